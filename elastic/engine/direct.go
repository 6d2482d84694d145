package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
)

// Errors of a request about a job: no sluice job has that number, or that job has ended.
var (
	ErrNoJob = errors.New("no such sluice job")
	ErrEnded = errors.New("has ended")
)

// Direct changes a user's directive for one job. It is durable when Direct returns; the next
// cycle acts on it. The caller MUST have authorised the user. Errors: ErrNoJob, ErrEnded, a pin
// that the job's options exclude, or the journal's error.
func (e *Engine) Direct(ctx context.Context, id elastic.JobID, change func(elastic.Directive) elastic.Directive) error {
	js := e.ByID[id]
	switch {
	case js == nil || js.Shown.Disown:
		return fmt.Errorf("%w: %d", ErrNoJob, id)
	case !js.Rec.Ended.IsZero():
		return fmt.Errorf("job %d %w (%s)", id, ErrEnded, js.Rec.State)
	}
	known := js.Rec.Tag.Directive
	shown := elastic.Directive{Pin: known.Pin, Hold: known.Hold || track.HeldByPerson(js.Shown.Slurm, js.Rec.Barred)}
	d := change(shown)
	if d.Hold == shown.Hold {
		d.Hold = known.Hold // the hold is Slurm's
	} else {
		js.Placing.Release = !d.Hold
	}
	if err := pinnable(js.Rec.Tag.Spec, d.Pin, clusterGPUs(&e.Last)); err != nil {
		return fmt.Errorf("job %d: %w", id, err)
	}
	return e.Executor.Direct(ctx, js, d)
}

func clusterGPUs(s *elastic.Snapshot) int {
	n := 0
	for _, node := range s.Nodes {
		n += node.GPUs
	}
	return n
}

func pinnable(s elastic.Spec, gpus, cluster int) error {
	if gpus == 0 || s.Allows(gpus, max(cluster, s.Min)) {
		return nil
	}
	return fmt.Errorf("cannot be pinned to %d GPUs; it accepts %v", gpus, s.Options(max(cluster, s.Min)))
}

// Stirred reports whether a job has answered a checkpoint request since the last cycle. It reads
// one small file for each requested job and does not query Slurm, so that it may be called
// several times a second.
func (e *Engine) Stirred() bool {
	for _, in := range e.Open {
		js := e.ByID[in.Job]
		if in.Step != elastic.Asked || js == nil {
			continue
		}
		word, ok, err := e.Observer.Mail.Runner(js.Rec.Token, js.Rec.SlurmUID)
		if err == nil && ok && track.AnswersRequest(word, in.Request) {
			return true
		}
	}
	return false
}
