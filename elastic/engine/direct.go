package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
)

// What an order may be answered with: no sluice job has that number, or the one that had
// it is over, perhaps since its user last looked.
var (
	ErrNoJob = errors.New("no such sluice job")
	ErrEnded = errors.New("has ended")
)

// Direct changes a user's standing order about one job, durably, for the next
// cycle to act on. The caller has been authorised. Errors are for people:
// ErrNoJob, ErrEnded, a pin the job's own options exclude, or the journal's.
func (e *Engine) Direct(ctx context.Context, id elastic.JobID, change func(elastic.Directive) elastic.Directive) error {
	js := e.ByID[id]
	switch {
	case js == nil || js.Shown.Disown:
		return fmt.Errorf("%w: %d", ErrNoJob, id)
	case !js.Rec.Ended.IsZero():
		return fmt.Errorf("job %d %w (%s)", id, ErrEnded, js.Rec.State)
	}
	d := change(js.Rec.Tag.Directive)
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

// Stirred reports whether a job that was asked for a checkpoint has answered
// since the last cycle. It reads one small file for each such job and asks Slurm
// nothing, so it may be called several times a second.
func (e *Engine) Stirred() bool {
	for _, in := range e.Open {
		js := e.ByID[in.Job]
		if in.Step != elastic.Asked || js == nil {
			continue
		}
		word, ok, err := e.Observer.Mail.Runner(js.Rec.Token, js.Rec.UID)
		if err == nil && ok && track.AnswersRequest(word, in.Request) {
			return true
		}
	}
	return false
}
