package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/say"
)

// decide is pure: the same snapshot gives the same plan, in the daemon, in a dry
// run and in simulation.
func (e *Engine) decide(s elastic.Snapshot) elastic.Plan {
	allocation := e.cfg.Policy.Decide(s)
	return plan.Reconcile(s, allocation, plan.Arrange(s, allocation))
}

// record makes a plan's moves durable, notes each job's reason and returns the
// moves as the journal numbered them.
func (e *Engine) record(ctx context.Context, decided elastic.Plan, now time.Time) ([]elastic.Intent, error) {
	for _, r := range decided.Reasons {
		if js := e.byID[r.Job]; js != nil {
			js.tells.said = r
			if r.Promised && !js.rec.Promised {
				js.rec.Promised, js.dirty = true, true
			}
		}
	}
	if len(decided.Open) == 0 {
		return nil, nil
	}
	opened, err := e.cfg.Journal.Intend(ctx, decided.Open)
	if err != nil {
		return nil, fmt.Errorf("recording %d moves: %w; nothing was started", len(decided.Open), err)
	}
	for _, in := range opened {
		if js := e.byID[in.Job]; js != nil {
			e.opened(js, in.Kind, now)
		}
		e.event(now, in.Job, "open", fmt.Sprintf("%s %s -> %s, incarnation %d: %s", in.Kind, in.From, in.Target, in.To, say.Reason(in.Cause, now)), fieldsOfMove(in))
	}
	e.open = append(e.open, opened...)
	return opened, nil
}
