package watch

import (
	"context"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// AskAhead begins to read the site's limits, and does not wait for them, if a job was stopped for its
// move in this cycle and another one waits. The GPUs that become free are given to it in one of the next
// cycles, and a read that only begins there would delay its start: Slurm would start the
// stopped job in one pass of its scheduler, and this one in the next, 3 s later by default. jobs are
// those of the snapshot after the step that stopped the job. It MUST be called AFTER that step: only
// then RequeuedAt is now.
func (w *Watch) AskAhead(jobs []elastic.Job, now time.Time) {
	if slices.ContainsFunc(w.Open, func(in elastic.Intent) bool { return in.Step == elastic.Verified && in.RequeuedAt.Equal(now) }) &&
		slices.ContainsFunc(jobs, func(j elastic.Job) bool { return j.Phase == elastic.Waiting }) {
		w.Observer.AskAhead(now)
	}
}

// AskLimits reads the site's limits unless the known ones are younger than most, and reports whether
// they changed. If they cannot be read the last ones apply. If they were never read, no job gets
// more than it has or its minimum (see eligible.Look.Caps). most is their maximum age; engine passes
// LimitsOld while it observes, and observe.LimitsFresh before it opens a move. A changed limit makes
// earlier snapshots of this cycle obsolete: the caller MUST decide again on a new one. Only the first
// failure in a row is logged.
func (w *Watch) AskLimits(ctx context.Context, most time.Duration, now time.Time) bool {
	first := !w.Observer.LimitsFailed()
	fresh, read, err := w.Observer.SiteLimits(ctx, most, w.Rules.LimitsPeriod(), now)
	if err != nil && first {
		w.Tell(now, 0, "problem", "the site's limits cannot be read; those known stand: "+err.Error())
	}
	return read && w.TookLimits(fresh)
}
