package engine

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
)

// byFreshLimits makes sure that a plan that opens moves was made by limits that are fresh.
// waits: Slurm has been asked for them and has not answered yet, so that nothing is opened in
// this cycle. Once it has failed to answer those known stand.
func (e *Engine) byFreshLimits(ctx context.Context, v observe.Look, s elastic.Snapshot, plan elastic.Plan, now time.Time) (_ elastic.Snapshot, _ elastic.Plan, waits bool) {
	if len(plan.Open) == 0 {
		return s, plan, false
	}
	if e.AskLimits(ctx, limitsFresh, now) {
		s = e.Snapshot(v, now)
		plan = decide(e.cfg.Policy, s)
	}
	if len(plan.Open) == 0 {
		return s, plan, false
	}
	late, first := e.Observer.LimitsLate()
	if !late {
		return s, plan, false
	}
	if first {
		e.Tell(now, 0, "problem", "no move is opened now: Slurm has been asked for the site's limits and has not answered yet")
	}
	plan.Open = nil
	return s, plan, true
}

// limitsFresh is how old the site's limits may be when a move is opened.
const limitsFresh = time.Second
