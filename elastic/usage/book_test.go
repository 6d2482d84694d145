package usage

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// TestRows: one row for each name, the most GPU-seconds first, and what has no name.
func TestRows(t *testing.T) {
	var jobs []journal.JobRecord
	for i, account := range []journal.Account{{Name: "phys", Known: true}, {Name: "bio", Known: true}, {Known: true}, {}} {
		j := job(float64(i), 60)
		j.Account, j.Owner.User, j.Owner.UID = account, "ann", 7
		if i == 1 {
			j.Owner.User, j.Tag.Spec.Model = "", "resnet50"
		}
		jobs = append(jobs, j)
	}
	late := job(-1, -1)
	late.Submitted = at(500)
	for by, want := range map[By][]string{Account: {"phys 14400", "bio 14160", "(none) 13920", "- 13680"}, User: {"ann 42000", "uid 7 14160"}, Model: {"(none) 42000", "resnet50 14160"}} {
		b := NewBook(by, Range{at(0), at(100)})
		for i, j := range jobs {
			b.Add(j, []journal.Segment{run(float64(i), 60, 4)})
		}
		b.Add(late, nil)
		r, got := b.Report(10), []string(nil)
		for _, row := range r.Rows {
			got = append(got, fmt.Sprint(row.Name, " ", row.GPUSeconds))
		}
		if !reflect.DeepEqual(got, want) || r.Further != 0 || r.Total.Ended != 4 {
			t.Errorf("by %s: %q, %+v", by, got, r)
		}
		if r.Total.Median != 90*time.Second || r.Total.Longest != 3*time.Minute {
			t.Errorf("by %s: waits %v, %v", by, r.Total.Median, r.Total.Longest)
		}
		short := b.Report(1)
		if len(short.Rows) != 1 || short.Further != len(want)-1 || short.Rows[0].plus(short.Others.Figures) != short.Total.Figures || !reflect.DeepEqual(short.Total, r.Total) {
			t.Errorf("by %s, one row: %+v", by, short)
		}
	}
}

// TestAnEmptyBook: a range in which nothing was.
func TestAnEmptyBook(t *testing.T) {
	if r := NewBook(User, Range{at(0), at(1)}).Report(5); len(r.Rows) != 0 || r.Total != (Row{}) {
		t.Errorf("%+v", r)
	}
}

// drawJob draws a job with up to five runs, some with an end that was not seen or was seen late,
// of a few users, accounts and models.
func drawJob(t *rapid.T) (journal.JobRecord, []journal.Segment) {
	minute := rapid.Float64Range(0, 300)
	j := job(-1, -1)
	j.Submitted = at(minute.Draw(t, "submitted"))
	j.Account = rapid.SampledFrom([]journal.Account{{}, {Known: true}, {Name: "phys", Known: true}, {Name: "bio", Known: true}}).Draw(t, "account")
	j.Owner.User = rapid.SampledFrom([]string{"ann", "bob", ""}).Draw(t, "user")
	j.Tag.Spec.Model = rapid.SampledFrom([]string{"", "m", "n"}).Draw(t, "model")
	now := j.Submitted
	wait := func(what string) time.Time {
		now = now.Add(time.Duration(minute.Draw(t, what) * float64(time.Minute) / 3))
		return now
	}
	var runs []journal.Segment
	for i := range rapid.IntRange(0, 5).Draw(t, "runs") {
		g := run(0, -1, rapid.IntRange(0, 9).Draw(t, "gpus"))
		g.Started = wait("start")
		if end := wait("end"); rapid.IntRange(0, 4).Draw(t, "seen") > 0 {
			g.Ended = end
		}
		g.Cause = rapid.SampledFrom([]reason.Reason{reason.UserAskedRequeue, reason.RequeuedOutside, nil}).Draw(t, "cause")
		g.DoneFrom, g.DoneTo, g.Seconds = float64(i)-0.5, float64(i+1), rapid.SampledFrom([]float64{0, 1, 1000, math.Inf(1)}).Draw(t, "speed")
		g.Price = elastic.Price{Save: time.Duration(rapid.IntRange(0, 9).Draw(t, "save")) * time.Second, Load: time.Second}
		if runs = append(runs, g); i == 0 {
			j.FirstRun = g.Started
		}
	}
	if rapid.Bool().Draw(t, "ended") {
		j.Ended, j.State = wait("ended"), rapid.SampledFrom([]string{"COMPLETED", "FAILED"}).Draw(t, "state")
	}
	j.Promised = rapid.Bool().Draw(t, "promised")
	if rapid.Bool().Draw(t, "with a deadline") {
		j.Tag.Spec.Deadline = at(minute.Draw(t, "due"))
	}
	return j, runs
}

// near compares figures whose seconds were added up in another order.
func near(a, b Figures) bool {
	close := func(x, y float64) bool { return math.Abs(x-y) <= 1e-6*(1+math.Abs(x)) }
	if !close(a.GPUSeconds, b.GPUSeconds) || !close(a.Beyond, b.Beyond) || !close(a.Dead, b.Dead) || !close(a.Lost, b.Lost) {
		return false
	}
	a.GPUSeconds, a.Beyond, a.Dead, a.Lost = b.GPUSeconds, b.Beyond, b.Dead, b.Lost
	return a == b
}

// The rows of any grouping add up to the total, which is the same for all groupings; a limit on
// the rows loses nothing.
func TestRowsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := Range{at(rapid.Float64Range(0, 300).Draw(t, "from")), at(600)}
		var books []*Book
		for _, by := range Bys {
			books = append(books, NewBook(by, in))
		}
		for range rapid.IntRange(0, 12).Draw(t, "jobs") {
			j, runs := drawJob(t)
			for _, b := range books {
				b.Add(j, runs)
			}
		}
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		total := books[0].Report(limit).Total
		for i, b := range books {
			r := b.Report(limit)
			sum, longest := r.Others.Figures, r.Others.Longest
			for _, row := range r.Rows {
				sum, longest = sum.plus(row.Figures), max(longest, row.Longest)
				if row.Median > row.Longest || row.Beyond > row.GPUSeconds || row.Kept > row.Promised {
					t.Fatalf("by %s: %+v", Bys[i], row)
				}
			}
			if !near(sum, r.Total.Figures) || longest != r.Total.Longest || r.Total != total || len(r.Rows) > limit {
				t.Fatalf("by %s: the rows are %+v, the total %+v, by account %+v", Bys[i], sum, r.Total, total)
			}
		}
	})
}

// A range cut in two adds up to the whole: except what is a state at its end.
func TestRangesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j, runs := drawJob(t)
		from := rapid.Float64Range(0, 600).Draw(t, "from")
		mid := rapid.Float64Range(from, 900).Draw(t, "mid")
		to := rapid.Float64Range(mid, 1200).Draw(t, "to")
		first, second := Of(j, runs, Range{at(from), at(mid)}), Of(j, runs, Range{at(mid), at(to)})
		whole := Of(j, runs, Range{at(from), at(to)})
		for _, part := range []Figures{first, second, whole} {
			if n := part.Ended + part.Running + part.Waiting; n > 1 {
				t.Fatalf("it is in %d states: %+v", n, part)
			}
		}
		first.Running, first.Waiting = 0, 0
		if sum := first.plus(second); !near(sum, whole) {
			t.Fatalf("the parts are %+v, the whole %+v", sum, whole)
		}
	})
}
