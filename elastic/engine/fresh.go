package engine

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
)

// freshly ensures that a plan that opens moves is based on nodes read in this cycle and on limits at
// most observe.LimitsFresh old. If either is older it is read, and the decision is repeated on a new
// snapshot if nodes were read or the limits changed. waits: Slurm has not answered the query for
// limits yet, so that nothing is opened in this cycle; if that query fails, the known limits
// apply. err is the error of reading the nodes.
func (e *Engine) freshly(ctx context.Context, seen observe.Look, snap elastic.Snapshot, plan elastic.Plan, now time.Time) (_ elastic.Snapshot, _ elastic.Plan, waits bool, err error) {
	if len(plan.Open) == 0 {
		return snap, plan, false, nil
	}
	other := false
	if seen.Old {
		if seen.Nodes, err = e.Observer.Nodes(ctx); err != nil {
			return snap, plan, false, err
		}
		e.SawNodes(seen.Nodes)
		other = true
	}
	if e.AskLimits(ctx, observe.LimitsFresh, now) || other {
		snap = e.Snapshot(seen, now)
		plan = decideIn(&e.cfg, snap)
	}
	if len(plan.Open) == 0 {
		return snap, plan, false, nil
	}
	late, first := e.Observer.LimitsLate()
	if !late {
		return snap, plan, false, nil
	}
	if first {
		e.Tell(now, 0, "problem", "no move is opened now: Slurm has been asked for the site's limits and has not answered yet")
	}
	plan.Open = nil
	return snap, plan, true, nil
}
