package roles

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// Parkable returns whether a job may be parked now so that waiting jobs of others start; nil if
// none may: Limits.Preempt is off, or all jobs find room at their minimum (Limits.Overload).
//
// Such a job is one of a scavenger that may be moved, and was not admitted for a deadline. It keeps
// its GPUs for the cooldown after it was started or moved, and for a quarter of Limits.Wait after it
// was started, as other jobs do that may be parked.
// The function returned MUST be asked about jobs of the same snapshot only. Jobs without GPUs are not
// parkable.
func Parkable(s *elastic.Snapshot) func(j *elastic.Job) bool {
	kept := max(s.Limits.Cooldown, s.Limits.Wait/4)
	later := ParkableLater(s)
	if later == nil {
		return nil
	}
	return func(j *elastic.Job) bool {
		return later(j) && !s.Resting(j) && !justStarted(s, j, kept)
	}
}

// ParkableLater is Parkable for the time when the jobs have had their GPUs for long enough.
func ParkableLater(s *elastic.Snapshot) func(j *elastic.Job) bool {
	if !s.Limits.Preempt || !overloaded(s) {
		return nil
	}
	return func(j *elastic.Job) bool {
		if !j.Scavenger || j.Promised {
			return false
		}
		role, _ := (&Subject{Job: *j, At: j.Place, Now: j.GPUs()}).Classify(s)
		return role == Movable && j.GPUs() > 0
	}
}

func justStarted(s *elastic.Snapshot, j *elastic.Job, kept time.Duration) bool {
	return !j.Started.IsZero() && s.Now.Sub(j.Started) < kept
}

// MayStart reports whether the job waits, and may be started as far as its user and its moves are concerned.
func MayStart(s *elastic.Snapshot, j *elastic.Job) bool {
	role, _ := (&Subject{Job: *j}).Classify(s)
	return role == Waiting
}

// Startable reports whether the job waits, and nothing but GPUs keeps it from starting.
func Startable(s *elastic.Snapshot, j *elastic.Job) bool {
	return MayStart(s, j) && j.WaitsOutside() == nil && !j.Lingers && !s.Now.Before(j.Rest) && !s.Now.Before(j.Refused.StartAgain())
}

// LeastOf returns the size at which a waiting job is started: its pin if it accepts that, or its
// minimum.
func LeastOf(j *elastic.Job) int {
	if pin := j.Directive.Pin; pin > 0 && j.Spec.Allows(pin, pin) {
		return pin
	}
	return j.Spec.Min
}

// overloaded reports whether the minimums of all jobs add up to more than Limits.Overload of the
// GPUs.
func overloaded(s *elastic.Snapshot) bool {
	least := 0
	for i := range s.Jobs {
		j := &s.Jobs[i]
		now := s.Committed(*j).GPUs()
		switch role, _ := (&Subject{Job: *j, Now: now}).Classify(s); {
		case role == Waiting && j.WaitsOutside() == nil:
			least += LeastOf(j)
		case role == Movable:
			least += min(now, j.Spec.Min)
		case role == Fixed:
			least += now
		}
	}
	return float64(least) > s.Limits.Overload*float64(s.Capacity())
}
