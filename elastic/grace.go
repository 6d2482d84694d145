package elastic

import "time"

// GraceOf is how long saving may take, of a job's spec and rhythm, which are its user's words.
// A program that saves by its own habit trains on meanwhile: waiting for its next checkpoint
// costs the wait only.
func (l Limits) GraceOf(spec Spec, rhythm time.Duration) time.Duration {
	grace := l.Grace
	switch {
	case spec.Grace > 0:
		grace = spec.Grace
	case spec.Habit:
		grace += 2 * rhythm
	}
	if l.MaxGrace > 0 {
		grace = min(grace, max(l.MaxGrace, l.Grace))
	}
	return grace
}
