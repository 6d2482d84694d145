package command

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// recordedPast are the runs in a release's past.txt, by the names of their jobs in
// names.txt.
func recordedPast(t testing.TB, release string) map[string][]slurm.PastRun {
	t.Helper()
	runs, err := parsePast(fixture(t, release, "past", "past.txt"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[slurm.JobID]string{}
	for line := range strings.Lines(fixture(t, release, "past", "names.txt")) {
		var id slurm.JobID
		var name string
		if _, err := fmt.Sscan(line, &id, &name); err != nil {
			t.Fatal(err)
		}
		names[id] = name
	}
	out := map[string][]slurm.PastRun{}
	for _, r := range runs {
		out[names[r.ID]] = append(out[names[r.ID]], r)
	}
	return out
}

// The answers were recorded on labs with slurmdbd, one a release: see testdata/record-past.sh.
func TestPastAsRecorded(t *testing.T) {
	const games = 5
	noOutput := slurm.PastRun{State: slurm.Failed, ExitSignal: slurm.LaunchIO, GPUs: 1}
	want := map[string]slurm.PastRun{
		"completed": {State: slurm.Completed, GPUs: 1}, "failed": {State: slurm.Failed, ExitCode: 3, GPUs: 1},
		"killed": {State: slurm.Failed, ExitSignal: 9, GPUs: 1}, "no-output": noOutput,
		"time-limit": {State: slurm.Timeout, GPUs: 1, Limit: time.Minute}, "cancelled-held": {State: slurm.Cancelled}, "cancelled-early": {State: slurm.Cancelled},
		"cancelled": {State: slurm.Cancelled, GPUs: 4}, "running": {State: slurm.Running, GPUs: 1}, "node-fail": {State: slurm.NodeFail, GPUs: 1},
	}
	for _, release := range releases {
		t.Run(release, func(t *testing.T) {
			got := recordedPast(t, release)
			for name, w := range want {
				if name == "no-output" && release == "20.11" {
					w.ExitCode, w.ExitSignal = 1, 0
				}
				if name == "node-fail" {
					got[name][0].ExitCode = 0 // 1 from 24.11 on
				}
				if len(got[name]) != 1 {
					t.Errorf("%s: %+v", name, got[name])
					continue
				}
				r := got[name][0]
				if r.State != w.State || r.ExitCode != w.ExitCode || r.ExitSignal != w.ExitSignal || r.GPUs != w.GPUs || r.UID != games {
					t.Errorf("%s: %+v", name, r)
				}
				if limit := 10 * time.Minute; name != "cancelled" && r.Limit != limit && r.Limit != w.Limit || name == "cancelled" && r.Limit != 0 {
					t.Errorf("%s: limit %v", name, r.Limit)
				}
				if ran := r.GPUs > 0; ran != (len(r.Nodes) > 0) || r.End.IsZero() != (r.State == slurm.Running) || ran && r.Start.Before(r.Submit) {
					t.Errorf("%s: %+v", name, r)
				}
			}
			if nodes := got["cancelled"][0].Nodes; len(nodes) != 2 {
				t.Errorf("two nodes: %v", nodes)
			}
			twice := got["requeued"]
			if len(twice) != 2 || twice[0].State != slurm.Pending || twice[1].State != slurm.Cancelled || twice[1].Submit.Before(twice[0].End) || twice[1].Submit.Sub(twice[0].End) > time.Second {
				t.Errorf("requeued: %+v", twice)
			}
			if none, err := parsePast(fixture(t, release, "past", "none.txt")); err != nil || len(none) != 0 {
				t.Errorf("%+v, %v", none, err)
			}
		})
	}
}

func TestPastThatCannotBeRead(t *testing.T) {
	const good = "7|1000|COMPLETED|0:0|1795509885|1795509886|1795509886|10|gpu1|gres/gpu=1\n"
	for name, out := range map[string]string{
		"cut off":          good + "7|1000|COMP",
		"a field too many": good + "7|1000|COMPLETED|0:0|1|2|3|10|gpu1|gres/gpu=1|x\n",
		"a word":           "x|1000|COMPLETED|0:0|1|2|3|10|gpu1|\n",
		"a step":           "7.batch|1000|COMPLETED|0:0|1|2|3|10|gpu1|\n",
		"no user":          "7||COMPLETED|0:0|1|2|3|10|gpu1|\n",
		"no submit":        "7|1000|COMPLETED|0:0|Unknown|2|3|10|gpu1|\n",
		"a date":           "7|1000|COMPLETED|0:0|2026-01-01T00:00:00|2|3|10|gpu1|\n",
		"a half host list": "7|1000|COMPLETED|0:0|1|2|3|10|gpu[1-|\n",
		"too many GPUs":    "7|1000|COMPLETED|0:0|1|2|3|10|gpu1|gres/gpu=99999999999\n",
	} {
		if runs, err := parsePast(out); err == nil || runs != nil {
			t.Errorf("%s: %+v, %v", name, runs, err)
		}
	}
	runs, err := parsePast(good + strings.Replace(good, "COMPLETED", "REVOKED", 1) + strings.Replace(good, "COMPLETED", "CANCELLED by 0", 1) + strings.Replace(good, "7|1000", "7|0", 1))
	if err != nil || len(runs) != 4 || runs[1].State != slurm.Unknown || runs[2].State != slurm.Cancelled || runs[3].UID != 0 {
		t.Errorf("%+v, %v", runs, err)
	}
}

// TestPastAsksInBulk: one sacct for 10,000 jobs, with arguments short enough for Linux;
// none without slurmdbd; and a failure names slurmdbd.
func TestPastAsksInBulk(t *testing.T) {
	s := newStubs(t)
	config := func(storage string) { s.set("scontrol", "echo 'AccountingStorageType = "+storage+"'") }
	config("accounting_storage/none")
	ids := make([]slurm.JobID, 10_000)
	for i := range ids {
		ids[i] = slurm.JobID(4_000_000_000 + i)
	}
	since := time.Date(2026, 3, 29, 2, 30, 0, 0, time.FixedZone("east", 7200))
	past := func(ids ...slurm.JobID) ([]slurm.PastRun, error) {
		return s.client(Config{}).Past(t.Context(), ids, since)
	}
	if runs, err := past(7); err != nil || runs != nil || len(s.calls()) != 1 {
		t.Errorf("without slurmdbd: %+v, %v, %q", runs, err, s.calls())
	}
	config("accounting_storage/slurmdbd")
	s.write("past", fixture(t, "24.11", "past", "past.txt"))
	s.set("sacct", `cat $here/past; env > $here/env`)
	if runs, err := past(ids...); err != nil || len(runs) != 13 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
	calls := s.calls()
	if len(calls) != 2 || !strings.Contains(calls[1], "[-S] [2026-03-29T00:30:00] [-j] [4000000000,4000000001,") || !strings.Contains(calls[1], ",4000009999] [--format=JobIDRaw,UID,") {
		t.Errorf("%d calls, the last: %.200s", len(calls), calls[len(calls)-1])
	}
	if env := s.read("env"); !strings.Contains(env, "TZ=UTC") || !strings.Contains(env, "SLURM_TIME_FORMAT=%s") {
		t.Error(env)
	}
	s.set("sacct", "echo 'sacct: error: Problem talking to the database: Connection refused' >&2; exit 1")
	if _, err := past(7); !errors.Is(err, slurm.ErrDatabaseDown) || strings.Contains(err.Error(), "slurmctld") {
		t.Error(err)
	}
	s.set("sacct", "echo 'sacct: error: Access/permission denied' >&2; exit 1")
	if _, err := past(7); !errors.Is(err, slurm.ErrPermission) {
		t.Error(err)
	}
	if runs, err := past(); err != nil || runs != nil {
		t.Error(runs, err)
	}
}

func TestNumberLists(t *testing.T) {
	if got := numberLists([]slurm.JobID{1, 22, 333, 4}, 6); !reflect.DeepEqual(got, []string{"1,22", "333,4"}) {
		t.Errorf("%q", got)
	}
}

func FuzzParsePast(f *testing.F) {
	for _, release := range releases {
		f.Add(fixture(f, release, "past", "past.txt"))
	}
	f.Add("7|0|CANCELLED by 5|0:53|1|None|2|UNLIMITED|None assigned|\n")
	f.Add("7|0|COMPLETED|0:0|1|2|2|1795510849|gpu1|\n") // a limit of more than 292 years
	f.Fuzz(func(t *testing.T, out string) {
		runs, err := parsePast(out)
		if err != nil && runs != nil || err == nil && len(runs) != strings.Count(out, "\n") {
			t.Fatalf("%d runs, %v", len(runs), err)
		}
		for _, r := range runs {
			if r.ID < 1 || r.State == "" || r.Submit.IsZero() || r.GPUs < 0 || r.Limit < 0 || r.ExitCode < 0 || r.ExitSignal < 0 {
				t.Fatalf("%+v", r)
			}
		}
	})
}
