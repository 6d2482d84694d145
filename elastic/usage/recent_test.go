package usage

import (
	"math"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
)

// TestRecent: GPU-seconds by user and account, each range cut at its begin; jobs that used nothing
// name nobody.
func TestRecent(t *testing.T) {
	const day = 24 * 60 // minutes
	job := func(account journal.Account, user string, ended float64) journal.JobRecord {
		j := job(0, ended)
		j.Account, j.Owner.User, j.Owner.UID = account, user, 7
		return j
	}
	phys := journal.Account{Name: "phys", Known: true}
	r := NewRecent(at(40 * day))
	for _, c := range []struct {
		job  journal.JobRecord
		runs []journal.Segment
	}{
		{job(phys, "ann", -1), []journal.Segment{run(5*day, 10.5*day, 4), run(39.5*day, -1, 2)}},  // half a day of 4 GPUs is within a month, and it runs on
		{job(phys, "ann", 38*day), []journal.Segment{run(30*day, 38*day, 1)}},                     // 5 days within a week
		{job(phys, "bob", 39*day), []journal.Segment{run(38*day, 39*day, 1)}},                     // ended just before the day
		{job(journal.Account{Known: true}, "eve", -1), []journal.Segment{run(39*day, 41*day, 1)}}, // a clock ahead
		{job(journal.Account{}, "", -1), []journal.Segment{run(39*day, -1, 1)}},
		{job(phys, "joe", 9*day), []journal.Segment{run(0, 9*day, 8)}},
		{job(phys, "kim", -1), nil},
	} {
		r.Add(c.job, c.runs)
	}
	days := func(each ...float64) (out GPUSeconds) {
		for i, d := range each {
			out[i] = d * 86400
		}
		return out
	}
	want := map[Member]GPUSeconds{{"phys", "ann"}: days(1, 1+5, 1+8+2), {"phys", "bob"}: days(0, 1, 1), {"", "eve"}: days(1, 1, 1), {Unknown, "uid 7"}: days(1, 1, 1)}
	if !reflect.DeepEqual(r.Of, want) {
		t.Errorf("%v, want %v", r.Of, want)
	}
	if got := r.Since(); !got.Equal(at(10 * day)) {
		t.Errorf("since %v", got)
	}
}

// TestRecentIsAReport: each range has the GPU-seconds that a report of it has.
func TestRecentIsAReport(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j, runs := drawJob(t)
		ago := rapid.SampledFrom(Spans[:]).Draw(t, "span") // so that ends of ranges cut runs
		to := at(rapid.Float64Range(0, 1200).Draw(t, "to")).Add(rapid.SampledFrom([]time.Duration{0, ago}).Draw(t, "later"))
		r := NewRecent(to)
		r.Add(j, runs)
		var got GPUSeconds
		for _, g := range r.Of {
			got = g
		}
		for i, span := range Spans {
			if want := Of(j, runs, Range{to.Add(-span), to}).GPUSeconds; math.Abs(got[i]-want) > 1e-6*(1+want) {
				t.Fatalf("of %v: %v, a report has %v", span, got[i], want)
			}
		}
	})
}
