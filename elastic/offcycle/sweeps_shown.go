package offcycle

import (
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
	"github.com/sluice-hpc/sluice/elastic/sweep/level"
)

// Shown is what users may see of a sweep whose lanes they may see: counts and results, no parameters.
// Once a step has made one, nobody changes it.
type Shown struct {
	UID     uint32
	Problem string // why the last step failed; "" = it did not
	Standing

	Name, Algorithm string
	Max             bool // the larger its metric, the better
	Goal            *float64
	End             book.End
	Asked, Parallel int // trials and lanes at most
	Begun           int
	Counts          map[book.State]int
	Best            *book.Best // nil = nothing was reported yet
	Bests           []book.Best
	Ratings         []book.Rating
	Created, Began  time.Time
	Running         map[string][]int // the trials that each lane runs, ascending, by the lane's token
}

// Bounds of what is shown over time.
const (
	mostBests   = 100
	mostLevels  = 100
	showsWithin = 2 * time.Second // results are summed up anew at most so often
)

// Shown returns what is shown of each sweep, by token. Sweeps of which no step has succeeded, and
// whose last one did not fail, are not in it.
func (s *Sweeps) Shown() map[string]Shown {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]Shown, len(s.known))
	for name, k := range s.known {
		_, other := out[name.token] // another user's jobs name the same token
		if k.shown.Metric != "" || k.said != "" && !other {
			v := k.shown
			v.UID, v.Problem = k.owner, k.said
			out[name.token] = v
		}
	}
	return out
}

// show sums up what is shown, from what was read and decided. A step goes through all reports, so that
// this is done only if something changed, and not at every look.
func (f *files) show(standing Standing, now time.Time) Shown {
	s := f.plan.Sweep
	counts := standing
	counts.Lanes, counts.Needless = nil, nil // of what was read, as acted is
	of := fmt.Sprint(f.acted, len(f.book.Ratings), counts)
	if of == f.viewOf || !f.viewAt.IsZero() && now.Sub(f.viewAt) < showsWithin && now.After(f.viewAt) {
		return f.view
	}
	f.viewOf, f.viewAt = of, now
	v := Shown{
		Standing: standing, Name: s.Name, Algorithm: s.Algorithm, Max: s.Metric.Max, Goal: s.Goal, End: f.book.Over, Asked: s.Trials, Parallel: s.Parallel,
		Begun: len(f.book.Trials), Counts: map[book.State]int{}, Bests: f.book.Bests(s, mostBests), Created: s.Created, Began: f.book.Began, Running: map[string][]int{},
	}
	for _, t := range f.book.Trials {
		v.Counts[t.State]++
		if lane := sweep.LaneOf(t.Lane); t.State == book.Running && len(v.Running[lane]) < sweep.MaxPerGPU {
			v.Running[lane] = append(v.Running[lane], t.Number)
		}
	}
	v.Best = f.book.Result(s)
	ratings := f.book.Ratings
	v.Ratings = append([]book.Rating{}, ratings[max(0, len(ratings)-mostLevels):]...)
	f.view = v
	return v
}

// idlePerLevel is how long GPUs have to idle for each level by which the priority rises.
const idlePerLevel = time.Minute

// rate finds the sweep's level: its rule, trial by trial in the order in which they were done. A
// change of the level is recorded, for those who look at it later; that it was recorded counts for
// nothing.
func (f *files) rate(idle bool, now time.Time) error {
	rule := level.DefaultRule()
	m := f.plan.Sweep.Metric
	done := f.book.Results(f.plan.Sweep)
	for ; f.counted < len(done); f.counted++ {
		f.level = rule.Done(f.level, done[:f.counted+1], m.Max)
	}
	switch {
	case !idle || f.level.Level == 0:
		f.raised = now
	case now.Sub(f.raised) >= idlePerLevel:
		f.level, f.raised = rule.Idle(f.level), now
	}
	if f.level.Level == f.book.Level() {
		return nil
	}
	e := book.Entry{At: now, Rated: &book.Rating{At: now, Level: f.level.Level, Gap: f.level.Gap, Done: f.counted}}
	f.book.Apply(e)
	return f.add([]book.Entry{e})
}
