package keeper

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
)

// TestSlowTrialsArePausedSooner: of four trials at a rung the second best goes on, unless its epochs take ten
// times as long as the others'. A trial that is a job of its own goes on all the same: it has fewer GPUs, maybe.
func TestSlowTrialsArePausedSooner(t *testing.T) {
	for _, c := range []struct{ slow, own bool }{{false, false}, {true, false}, {true, true}} {
		slow := c.slow
		b := book.New()
		for n := 1; n <= 4; n++ {
			pace := 10 * time.Second
			if slow && n == 2 {
				pace *= 10
			}
			b.Trials = append(b.Trials, &book.Trial{Number: n, State: book.Running, Start: 1, Begun: noon, Point: "depth=3,lr=0.01",
				Curve: []book.Mark{{Epoch: 1, Value: float64(10 - n), Start: 1, At: noon.Add(pace).UnixMilli()}}})
		}
		var paused []int
		for _, e := range Step(b, planOf(t, func(s *sweep.Sweep) { s.OwnJobs = c.own }), Seen{}, noon.Add(time.Hour)) {
			if e.Pause != nil {
				paused = append(paused, e.Pause.Trial)
			}
		}
		if want := map[bool]int{false: 2, true: 3}[slow && !c.own]; len(paused) != want || paused[0] != 5-want {
			t.Errorf("%+v: %v are paused, want %d", c, paused, want)
		}
	}
}
