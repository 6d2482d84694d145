package elastic

import "time"

// GraceOf returns how long the job may take to save after a request: from its spec and its
// interval between checkpoints, which its user declares, bounded by the site's maximum. A
// program that saves at its own interval trains on meanwhile: waiting for its next checkpoint
// costs only the wait.
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
