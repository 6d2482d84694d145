package engine

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// lead is what a look and a write take, with some to spare.
const lead = 250 * time.Millisecond

// stopped reports whether the job of a move was stopped and is not released yet.
func stopped(in elastic.Intent) bool {
	return in.Step == elastic.Verified && !in.RequeuedAt.IsZero() || in.Step == elastic.Requeued || in.Step == elastic.Written
}

// beforeSecond returns the first moment, at t or later, that is lead before a full second.
// A stopped job that is found pending then is written and released at once, and its begin
// time, the next full second (startAfter), is so near that the scheduling pass which the
// release asks for does not miss it: slurmctld runs one within a second, and not another
// for batch_sched_delay (3 s). At any other moment half of the passes come too early.
func beforeSecond(t time.Time) time.Time {
	at := t.Truncate(time.Second).Add(time.Second - lead)
	if at.Before(t) {
		at = at.Add(time.Second)
	}
	return at
}
