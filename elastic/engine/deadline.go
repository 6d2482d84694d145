package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/execute"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
)

// ErrNoRoom: the job's comment in Slurm, in which sluice keeps what it needs, is full.
var ErrNoRoom = errors.New("has no room left in its comment")

// Redate changes when a job should have ended; zero takes its deadline away. It is durable when
// Redate returns, and in the job's comment after the next cycle. It is judged at once, as the next
// cycle would: the result is the job's entry of that decision, nil if no cycle has seen the job. An
// admission stays if the deadline moves to a later time; a new one is durable, too. The caller
// MUST have authorised the user, and it MUST be called between two cycles. Errors: ErrNoJob, ErrEnded,
// ErrNoRoom, a deadline that the job's options exclude, or the journal's error.
func Redate(ctx context.Context, e *Engine, id elastic.JobID, due time.Time, soft bool, now time.Time) (*elastic.JobReason, error) {
	js := e.ByID[id]
	switch {
	case js == nil || js.Shown.Disown:
		return nil, fmt.Errorf("%w: %d", ErrNoJob, id)
	case !js.Rec.Ended.IsZero():
		return nil, fmt.Errorf("job %d %w (%s)", id, ErrEnded, js.Rec.State)
	}
	rec := js.Rec
	old := rec.Tag.Spec.Deadline
	rec.Tag.Spec.Deadline, rec.Tag.Spec.Soft = due, soft
	if err := rec.Tag.Spec.Validate(); err != nil {
		return nil, fmt.Errorf("job %d: %w", id, err)
	}
	if len(rec.Tag.String()) > elastic.MaxComment {
		return nil, fmt.Errorf("job %d %w: Slurm keeps %d bytes of it; shorten your own part of it with 'scontrol update job=%d comment=...'", id, ErrNoRoom, elastic.MaxComment, id)
	}
	rec.Promised = rec.Promised && !due.IsZero() && !due.Before(old)
	if err := execute.Redate(ctx, &e.Executor, js, rec); err != nil {
		return nil, err
	}
	judged := judge(e, js, now)
	if judged != nil && judged.Promised && !js.Rec.Promised {
		rec = js.Rec
		rec.Promised = true
		if err := execute.Redate(ctx, &e.Executor, js, rec); err != nil {
			return nil, err
		}
	}
	return judged, nil
}

// judge returns what the next cycle would decide about a job whose deadline changed, from the last
// observation; nil if that does not have the job.
func judge(e *Engine, js *track.Job, now time.Time) *elastic.JobReason {
	if !e.sealed {
		return nil
	}
	s := e.Last.At(track.Later(e.next, now))
	s.Jobs = slices.Clone(s.Jobs)
	i := slices.IndexFunc(s.Jobs, func(j elastic.Job) bool { return j.ID == js.Rec.ID })
	if i < 0 {
		return nil
	}
	spec := js.Rec.Tag.Spec
	redate(&s.Jobs[i], spec.Deadline, spec.Soft, js.Rec.Promised)
	plan := decide(e.cfg.Policy, s)
	e.foretold = foretold{}
	for _, r := range plan.Reasons {
		if r.Job == js.Rec.ID {
			return &r
		}
	}
	return nil
}

// redate changes a job's deadline in a snapshot.
func redate(j *elastic.Job, due time.Time, soft, promised bool) {
	j.Spec.Deadline, j.Spec.Soft, j.Promised = due, soft, promised
	if j.Grown.Min > 0 {
		j.Grown.Deadline, j.Grown.Soft = due, soft
	}
}
