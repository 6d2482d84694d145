package saved

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var epoch = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

func at(hours float64) time.Time { return epoch.Add(time.Duration(hours * float64(time.Hour))) }

// Two jobs that were given half the GPUs each, where fixed ones of 4 would have waited for each
// other: what was saved is the wait of the second.
func TestCompare(t *testing.T) {
	r := Compare([]Job{
		{Submitted: at(0), Ended: at(2), Min: 1, Max: 4, Runs: []Run{{GPUs: 2, From: at(0), To: at(2)}}},
		{Submitted: at(0), Ended: at(2), Min: 1, Max: 4, Runs: []Run{{GPUs: 2, From: at(0), To: at(2)}}},
		{Submitted: at(0), Ended: at(0), Runs: nil}, // never ran
	})
	if r.Jobs != 2 || r.GPUs != 4 || r.Actual != (Figures{0, 4, 8}) {
		t.Fatalf("%+v", r)
	}
	if c := r.Cases[0]; c.Size != "mean" || c.Figures != r.Actual || r.Done.Mid != 0 {
		t.Errorf("at the size that they had nothing changes: %+v", c)
	}
	if r.Done.Low > r.Done.Mid || r.Done.High < r.Done.Mid || r.Done.High <= 0 {
		t.Errorf("on 1 GPU they would have been slower: %+v", r.Done)
	}
}

// A fixed job of all GPUs makes the next one wait; a small one behind it is backfilled.
func TestQueue(t *testing.T) {
	f := queue([]task{{0, 3600, 3}, {0, 3600, 4}, {0, 3600, 1}}, 4)
	if want := (Figures{Wait: 1, Done: 4, GPUHours: 8}); f != want {
		t.Errorf("%+v, want %+v", f, want)
	}
	f = queue([]task{{0, 3600, 3}, {0, 3600, 4}, {0, 7200, 1}}, 4)
	if f.Wait != 3 { // it would delay the second, so it waits for both
		t.Errorf("%+v", f)
	}
}

// The share that more GPUs do not speed up is found from the measurements.
func TestSerial(t *testing.T) {
	j := Job{Runs: []Run{{GPUs: 1, Seconds: 100}, {GPUs: 2, Seconds: 60}, {GPUs: 4, Seconds: 40}}}
	if s, known := j.serial(); !known || math.Abs(s-.2) > 1e-9 {
		t.Errorf("%v %v, want 0.2", s, known)
	}
	if _, known := (Job{Runs: []Run{{GPUs: 2, Seconds: 60}, {GPUs: 2, Seconds: 61}}}).serial(); known {
		t.Error("one size tells nothing")
	}
}

// Whatever the jobs: no time is negative, the middle is in its range, every case runs all work.
func TestCompareAlways(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var jobs []Job
		for range rapid.IntRange(0, 30).Draw(t, "jobs") {
			from := rapid.Float64Range(0, 50).Draw(t, "submitted")
			j := Job{Submitted: at(from), Min: rapid.IntRange(1, 4).Draw(t, "min")}
			j.Max = j.Min + rapid.IntRange(0, 8).Draw(t, "more")
			for range rapid.IntRange(1, 4).Draw(t, "runs") {
				from += rapid.Float64Range(0, 2).Draw(t, "wait")
				to := from + rapid.Float64Range(0.01, 5).Draw(t, "lasts")
				j.Runs = append(j.Runs, Run{GPUs: rapid.IntRange(j.Min, j.Max).Draw(t, "gpus"), From: at(from), To: at(to),
					Seconds: rapid.Float64Range(0, 100).Draw(t, "seconds"), Dead: 20 * time.Second})
				from = to
			}
			j.Ended = at(from)
			jobs = append(jobs, j)
		}
		r := Compare(jobs)
		for _, c := range r.Cases {
			if c.Wait < -1e-9 || c.Done < c.Wait || math.IsNaN(c.GPUHours) || c.GPUHours <= 0 {
				t.Fatalf("%+v", c)
			}
		}
		for _, e := range []Estimate{r.Wait, r.Done, r.GPUHours} {
			if len(r.Cases) > 0 && (e.Mid < e.Low || e.Mid > e.High) {
				t.Fatalf("%+v", e)
			}
		}
	})
}
