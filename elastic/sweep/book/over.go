package book

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// Resumes reports whether a sweep that is over goes on as it is now: it was extended, or resumed, so
// that the reason does not hold any more. Exhausted and Unsolvable are for the keeper, which knows the space.
func (b *Book) Resumes(s sweep.Sweep, now time.Time) bool {
	if s.State == sweep.Stopped {
		return false
	}
	switch b.Over {
	case AllTried:
		return s.Trials > len(b.Trials)
	case TooMany:
		return b.Failures() < s.MaxFailures
	case ByUser:
		return true
	case AtGoal:
		return !b.Reached(s)
	case TooLong:
		return !b.TooLong(s, now)
	}
	return false
}

// TooLong reports whether the sweep's time is over, if it has one.
func (b *Book) TooLong(s sweep.Sweep, now time.Time) bool {
	return s.Within > 0 && !b.Began.IsZero() && now.Sub(b.Began) >= s.Within
}

// Reached reports whether a point is as good as the goal, with all its repeats. One that is exactly
// as good as the goal reaches it. Trials that still run count.
func (b *Book) Reached(s sweep.Sweep) bool {
	if s.Goal == nil {
		return false
	}
	best, ok := b.Leader(s)
	return ok && best.Whole && !s.Metric.Better(*s.Goal, best.Value)
}
