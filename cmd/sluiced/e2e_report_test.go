package main_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/slurm/lab"
)

// TestReport: what two users' jobs used, by user and by account, is what 'sluice history' shows of
// the jobs' runs. Without slurmdbd there are no accounts.
func TestReport(t *testing.T) {
	for name, accounts := range map[string]bool{"slurmdbd": true, "plain": false} {
		t.Run(name, func(t *testing.T) {
			if err := lab.MissingAccounting(""); accounts && err != nil {
				t.Skipf("SKIPPED, not tested on a real Slurm: %v", err)
			}
			t.Parallel()
			reportOf(t, accounts)
		})
	}
}

func reportOf(t *testing.T, accounts bool) {
	people := []string{"sluice-test-p", "sluice-test-q"}
	if accounts {
		people = []string{"sluice-test-s", "sluice-test-t"}
	}
	s := play(t, withNodes(1, 4), withUsers(people), func(c *site.Config) { c.Lab.Accounting = accounts })
	of := map[string]string{people[0]: "(none)", people[1]: "(none)"}
	if accounts {
		of = map[string]string{people[0]: "phys", people[1]: "bio"}
		for user, account := range of {
			s.must(s.Lab.Enroll(s.ctx, account, user))
		}
	}
	grows := s.submit("grows", people[0], 1000, []string{"--min-gpus=1", "--max-gpus=2"}, "--seconds", "0.2")
	grows.runsOn(2)
	fixed := s.submit("fixed", people[1], 4, []string{"--gpus=1"}, "--seconds", "0.2")
	fixed.completes()
	s.cancel(grows)
	want := map[string]wire.UsageRow{}
	for _, j := range []*job{grows, fixed} {
		v := j.until("to have ended", func(v wire.Job) bool { return v.Ended && !v.EndedAt.IsZero() })
		row := s.ofHistory(v)
		want[j.user] = row
		t.Logf("job %d of %s, by its history: %+v", v.JobID, j.user, row)
	}
	if row := want[people[0]]; row.Moves < 1 || row.Beyond <= 0 || row.DeadHours <= 0 {
		t.Fatalf("the job did not grow: %+v", row)
	}

	got := s.report("--by", "user")
	if len(got.Rows) != 2 {
		t.Errorf("%d rows by user", len(got.Rows))
	}
	for _, row := range got.Rows {
		sameRow(t, row, want[row.Name])
	}
	sum := want[people[0]]
	plus(&sum, want[people[1]])
	sum.WaitMedian, sum.WaitLongest = got.Total.WaitMedian, max(sum.WaitLongest, want[people[1]].WaitLongest)
	sameRow(t, got.Total, sum)

	by := map[string]wire.UsageRow{}
	for user, account := range of {
		row := by[account]
		plus(&row, want[user])
		by[account] = row
	}
	got = s.report("--by", "account")
	if len(got.Rows) != len(by) {
		t.Errorf("%d rows by account, want %d", len(got.Rows), len(by))
	}
	for _, row := range got.Rows {
		w := by[row.Name]
		w.WaitMedian, w.WaitLongest = row.WaitMedian, row.WaitLongest
		sameRow(t, row, w)
	}
	for _, line := range [][]string{{"history", fmt.Sprint(grows.id)}, {"report", "--since", "1d"}, {"report", "--since", "1d", "--by", "user"}, {"report", "--since", "1d", "--by", "model"}} {
		t.Logf("%s\n%s", strings.Join(line, " "), s.as(people[0], "sluice", line...))
	}
	out := s.as(people[0], "sluice", "report", "--since", "1d", "--by", "user", "--csv")
	t.Logf("%s", out)
	if records, err := csv.NewReader(strings.NewReader(out)).ReadAll(); err != nil || len(records) != 4 || records[3][0] != "total" {
		t.Errorf("%v, %q", err, records)
	}
}

// report is what 'sluice report' says of the last day.
func (s *scene) report(args ...string) (out wire.Usage) {
	s.t.Helper()
	s.must(json.Unmarshal([]byte(s.as("", "sluice", append([]string{"report", "--since", "1d", "--json"}, args...)...)), &out))
	return out
}

// ofHistory computes an ended job's row from what 'sluice history' says, another way than sluiced.
func (s *scene) ofHistory(v wire.Job) wire.UsageRow {
	s.t.Helper()
	var h wire.History
	s.must(json.Unmarshal([]byte(s.as("", "sluice", "history", "--json", fmt.Sprint(v.JobID))), &h))
	row := wire.UsageRow{Name: v.User, Ended: 1, FirstRuns: 1, WaitMedian: v.FirstRun.Sub(v.Submitted).Seconds()}
	row.WaitLongest = row.WaitMedian
	for i, g := range h.Segments {
		hours := g.Ended.Sub(g.Started).Hours()
		row.GPUHours += hours * float64(g.GPUs)
		row.Beyond += hours * float64(g.GPUs-v.Min)
		if i > 0 {
			before, p := h.Segments[i-1], g.Price
			row.Moves++
			row.DeadHours += ((p.Save+p.Drain)*float64(before.GPUs) + (p.Start+p.Load)*float64(g.GPUs)) / 3600
			row.LostHours += (p.Total + g.AgainSeconds) / 3600
		}
	}
	return row
}

// plus adds what can be added.
func plus(sum *wire.UsageRow, r wire.UsageRow) {
	sum.Ended, sum.Running, sum.Waiting, sum.FirstRuns, sum.Moves = sum.Ended+r.Ended, sum.Running+r.Running, sum.Waiting+r.Waiting, sum.FirstRuns+r.FirstRuns, sum.Moves+r.Moves
	sum.GPUHours, sum.Beyond, sum.DeadHours, sum.LostHours = sum.GPUHours+r.GPUHours, sum.Beyond+r.Beyond, sum.DeadHours+r.DeadHours, sum.LostHours+r.LostHours
}

// sameRow compares rows but for their names, to the millisecond.
func sameRow(t *testing.T, got, want wire.UsageRow) {
	t.Helper()
	name := got.Name
	got.Name, want.Name = "", ""
	for _, f := range [][2]*float64{{&got.GPUHours, &want.GPUHours}, {&got.Beyond, &want.Beyond}, {&got.DeadHours, &want.DeadHours},
		{&got.LostHours, &want.LostHours}, {&got.WaitMedian, &want.WaitMedian}, {&got.WaitLongest, &want.WaitLongest}} {
		if math.Abs(*f[0]-*f[1]) < time.Millisecond.Hours() {
			*f[0] = *f[1]
		}
	}
	if got != want {
		t.Errorf("the row of %q is\n%+v, by the histories\n%+v", name, got, want)
	}
}
