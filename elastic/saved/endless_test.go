package saved

import (
	"math"
	"testing"
	"time"
)

// Whatever a history says, a comparison ends, and its numbers are numbers: runs that took no time, speeds
// beyond all bounds, jobs that need more GPUs than there were.
func TestCompareEnds(t *testing.T) {
	run := func(gpus int, from, to, seconds float64) Run {
		return Run{GPUs: gpus, From: at(from), To: at(to), Seconds: seconds}
	}
	for name, jobs := range map[string][]Job{
		"runs of no time":            {{Submitted: at(0), Ended: at(1), Min: 2, Runs: []Run{run(2, 1, 1, 0)}}},
		"a run before its start":     {{Submitted: at(0), Ended: at(1), Min: 1, Runs: []Run{run(2, 3, 1, 0)}}},
		"a speed without bounds":     {{Submitted: at(0), Ended: at(4), Min: 1, Runs: []Run{run(2, 0, 2, math.MaxFloat64), run(4, 2, 4, math.MaxFloat64/2)}}, {Submitted: at(0), Ended: at(4), Min: 1, Runs: []Run{run(2, 0, 2, 1)}}},
		"a minimum that nothing had": {{Submitted: at(0), Ended: at(4), Min: 64, Runs: []Run{run(2, 0, 2, 1)}}, {Submitted: at(0), Ended: at(4), Min: 1, Runs: []Run{run(1, 0, 2, 1)}}},
		"a time that is dead only":   {{Submitted: at(0), Ended: at(4), Min: 1, Runs: []Run{{GPUs: 1, From: at(0), To: at(1), Dead: 1000 * time.Hour}}}},
	} {
		done := make(chan Result, 1)
		go func() { done <- Compare(jobs) }()
		select {
		case r := <-done:
			for _, e := range []Estimate{r.Wait, r.Done, r.GPUHours} {
				for _, f := range []float64{e.Low, e.Mid, e.High} {
					if math.IsNaN(f) || math.IsInf(f, 0) {
						t.Errorf("%s: %+v", name, r)
					}
				}
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: it does not end", name)
		}
	}
	if f := queue([]task{{0, 60, 9}, {0, 60, 1}}, 4); f != (Figures{}) {
		t.Errorf("a task that can never start: %+v", f)
	}
	queue([]task{{0, math.NaN(), 1}, {1, 60, 4}}, 4)
	queue([]task{{0, math.Inf(1), 4}, {1, 60, 4}}, 4)
}
