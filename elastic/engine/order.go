package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// ErrBusy: the job is between two sizes, or does not run.
var ErrBusy = errors.New("cannot save now")

// Order opens a move that the job's user asked for: a Save, after which it trains on, or a
// Park, after which it waits again and is placed afresh. The move is durable when Order
// returns; the next cycle carries it out. The same order again, while it is being carried
// out, changes nothing. The caller has been authorised.
func (e *Engine) Order(ctx context.Context, id elastic.JobID, kind elastic.Kind, now time.Time) error {
	js := e.byID[id]
	switch {
	case js == nil || js.shown.disown:
		return fmt.Errorf("%w: %d", ErrNoJob, id)
	case !js.rec.Ended.IsZero():
		return fmt.Errorf("job %d %w (%s)", id, ErrEnded, js.rec.State)
	}
	for _, in := range e.open {
		switch {
		case in.Job != id:
		case in.Kind == kind, kind == elastic.Save && in.Step <= elastic.Verified:
			return nil // it saves already
		default:
			return fmt.Errorf("job %d %w: a move is open (%s)", id, ErrBusy, in.Kind)
		}
	}
	switch {
	case phaseOf(js.shown.slurm) != elastic.Running:
		return fmt.Errorf("job %d %w: it does not run", id, ErrBusy)
	case kind == elastic.Park && (js.rec.Tag.Directive.Hold || js.shown.slurm.Held && !js.placing.hold):
		return fmt.Errorf("job %d %w: it is held, and would not start again; type sluice release %d first", id, ErrBusy, id)
	}
	cause := reason.UserAskedSave
	if kind == elastic.Park {
		cause = reason.UserAskedRequeue
	}
	in := e.intend(js, kind, cause, now)
	if kind == elastic.Save {
		in.Target = in.From
	}
	_, err := e.hands.record(ctx, elastic.Plan{Open: []elastic.Intent{in}}, now)
	if err != nil {
		return fmt.Errorf("job %d: %w", id, err)
	}
	return nil
}
