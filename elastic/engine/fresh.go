package engine

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
)

// freshly makes sure that a plan that opens moves was made by nodes of this cycle and by fresh
// limits. Where either was older, both are read; where that changed anything, one more snapshot is
// made and decided by. waits: Slurm was asked for the limits and has not answered yet, so nothing
// is opened in this cycle. Once it has failed to answer, the known ones stand. An error is that of
// the nodes.
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
	if e.AskLimits(ctx, limitsFresh, now) || other {
		snap = e.Snapshot(seen, now)
		plan = decide(e.cfg.Policy, snap)
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

// limitsFresh is how old the site's limits may be when a move is opened.
const limitsFresh = time.Second
