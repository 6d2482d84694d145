package sweeps

import (
	"fmt"
	"math"
	"testing"
)

// TestALaneByHand: two configurations of 2 epochs, 10 s an epoch, on one lane with 2 s to start.
func TestALaneByHand(t *testing.T) {
	task := &Task{Name: "a", Configs: [][]float64{nil, nil}, Metric: [][]float64{{1, 2}, {1, 2}}, Seconds: [][]float64{{10, 20}, {10, 20}}}
	l := NewLive(Arrival{Task: task, Trials: 2, Lanes: 2, Goal: math.Inf(1), Start: 2})
	if told := l.Told(); told.Wants != 2 || told.Over || told.Trials != 0 {
		t.Errorf("%+v", told)
	}
	l.Start(0, 5)
	l.Pass(20, false) // 3 s into its second epoch
	l.Stop(0, 20)
	l.Pass(30, false)
	if told := l.Told(); told.Wants != 2 {
		t.Errorf("a trial whose lane was taken is not wanted: %+v", told)
	}
	l.Start(1, 30)
	l.Pass(38.5, false)
	if o := l.Outcome(); o.Done != 0 {
		t.Errorf("%+v at 38.5 s, but the rest of its epoch lasts until 39 s", o)
	}
	l.Pass(61, false)
	at, left := l.Left(1)
	if o := l.Outcome(); o.Done != 2 || o.Over != 61 || !left || at != 61 {
		t.Errorf("%+v, left %v at %g; want both trials done at 39 s and 61 s", o, left, at)
	}
	l.Start(0, 70)
	l.Pass(100, false)
	if at, left := l.Left(0); !left || at != 70 {
		t.Errorf("a lane of a sweep that is over left %v at %g", left, at)
	}
}

// TestLiveSweeps: whatever lanes are taken, and when, every trial is run to its end or paused by a
// rung, none twice, and the same calls give the same sweep.
func TestLiveSweeps(t *testing.T) {
	for seed := range uint64(20) {
		var said string
		for range 2 {
			l := NewLive(Arrival{Task: Generated(seed, 40), Trials: 40, Lanes: 3, Goal: math.Inf(1), Halving: seed%2 == 0, Start: 2, Seed: seed})
			on := [3]bool{}
			now := 0.
			for n := uint64(0); l.Outcome().Over < 0; n++ {
				if n > 100_000 {
					t.Fatalf("seed %d: %+v", seed, l.Outcome())
				}
				k := int((n*7 + seed) % 3)
				if _, left := l.Left(k); left {
					on[k] = false
				} else if on[k] && n%3 == 0 {
					l.Stop(k, now)
					on[k] = false
				}
				if !on[k] {
					l.Start(k, now+1)
					on[k] = true
				}
				now += 13.7
				l.Pass(now, n%5 == 0)
			}
			o := l.Outcome()
			if o.Begun != 40 || o.Done+o.Paused != 40 || seed%2 == 1 && o.Paused > 0 || seed%2 == 0 && o.Paused == 0 {
				t.Errorf("seed %d: %+v", seed, o)
			}
			if text := fmt.Sprint(o, l.Told(), now); said == "" {
				said = text
			} else if text != said {
				t.Errorf("seed %d: %s, and then %s", seed, said, text)
			}
		}
	}
}

// TestGoalEndsASweep: its lanes leave at the epoch that reaches the goal.
func TestGoalEndsASweep(t *testing.T) {
	task := Generated(3, 30)
	l := NewLive(Arrival{Task: task, Trials: 30, Lanes: 2, Goal: task.Goal(.8), Start: 2, Seed: 1})
	l.Start(0, 0)
	l.Start(1, 0)
	l.Pass(1e6, false)
	o := l.Outcome()
	a, _ := l.Left(0)
	b, _ := l.Left(1)
	if o.Reached <= 0 || o.Over != o.Reached || a != o.Over || b != o.Over || o.Begun == 30 || l.Told().Wants != 0 {
		t.Errorf("%+v, lanes left at %g and %g, %+v", o, a, b, l.Told())
	}
}
