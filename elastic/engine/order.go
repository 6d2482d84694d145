package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// ErrBusy: the job has an open move, or does not run.
var ErrBusy = errors.New("cannot save now")

// Order opens a move that the job's user requested: a Save, after which the job continues, or a
// Park, after which it is queued and placed again. The move is durable when Order returns; the next
// cycle carries it out. Repeating an order while its move is open changes nothing. The caller
// MUST have authorised the user.
func (e *Engine) Order(ctx context.Context, id elastic.JobID, kind elastic.Kind, now time.Time) error {
	js := e.ByID[id]
	switch {
	case js == nil || js.Shown.Disown:
		return fmt.Errorf("%w: %d", ErrNoJob, id)
	case !js.Rec.Ended.IsZero():
		return fmt.Errorf("job %d %w (%s)", id, ErrEnded, js.Rec.State)
	}
	for _, in := range e.Open {
		switch {
		case in.Job != id:
		case in.Kind == kind, kind == elastic.Save && in.Step <= elastic.Verified:
			return nil // it saves already
		default:
			return fmt.Errorf("job %d %w: a move is open (%s)", id, ErrBusy, in.Kind)
		}
	}
	switch {
	case track.PhaseOf(js.Shown.Slurm, now) != elastic.Running:
		return fmt.Errorf("job %d %w: it does not run", id, ErrBusy)
	case kind == elastic.Park && (js.Rec.Tag.Directive.Hold || track.HeldByPerson(js.Shown.Slurm, js.Rec.Barred)):
		return fmt.Errorf("job %d %w: it is held, and would not start again; type sluice release %d first", id, ErrBusy, id)
	}
	cause := reason.UserAskedSave
	if kind == elastic.Park {
		cause = reason.UserAskedRequeue
	}
	in := e.Rules.Intend(js, kind, cause, now)
	if kind == elastic.Save {
		in.Target = in.From
	}
	_, err := e.Executor.Record(ctx, elastic.Plan{Open: []elastic.Intent{in}}, now)
	if err != nil {
		return fmt.Errorf("job %d: %w", id, err)
	}
	return nil
}
