package engine

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// lead is an upper bound for the time that an observation and an update take.
const lead = 250 * time.Millisecond

// stopped reports whether the job of a move was stopped and is not released yet.
func stopped(in elastic.Intent) bool {
	return in.Step == elastic.Verified && !in.RequeuedAt.IsZero() || in.Step == elastic.Requeued || in.Step == elastic.Written
}

// beforeSecond returns the first time, at t or later, that is lead before a full second. If a
// stopped job is found pending then, it is updated and released at once. Its begin time, the
// next full second (execute.startAfter), comes before the scheduling pass that the release
// triggers: slurmctld runs that pass within 1 s, and the next one only after batch_sched_delay
// (3 s). At other times half of the passes come before the begin time.
func beforeSecond(t time.Time) time.Time {
	at := t.Truncate(time.Second).Add(time.Second - lead)
	if at.Before(t) {
		at = at.Add(time.Second)
	}
	return at
}
