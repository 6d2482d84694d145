package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/slurm"
)

// errSuspicious marks an answer that is legal but not believed.
var errSuspicious = errors.New("suspicious answer from Slurm")

// eyes read what an observation is made of. They change nothing, and know nothing of jobs but
// what they are asked about.
type eyes struct {
	slurm      slurm.Client
	mail       Reader
	journal    Histories
	limiter    slurm.Limiter
	accountant slurm.Accountant
	between    func() // called between two queries; nil = nothing is

	limits limitsAsked
}

// Histories are the past runs of jobs, as the journal has them.
type Histories interface {
	// Segments returns a job's segments in order of Restarts.
	Segments(ctx context.Context, token string) ([]journal.Segment, error)
}

// look is one look at the cluster.
type look struct {
	jobs  []slurm.Job
	nodes []slurm.Node
	old   bool // nodes are those of the look before
}

// askNodes asks Slurm for the nodes. An empty answer is never "nothing there": a
// cluster has nodes.
func (y *eyes) askNodes(ctx context.Context) ([]slurm.Node, error) {
	fresh, err := y.slurm.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	if len(fresh) == 0 {
		return nil, fmt.Errorf("%w: no nodes at all", errSuspicious)
	}
	return fresh, nil
}

// box is the folder of a job, and whose it must be.
type box struct {
	token string
	uid   uint32
}

// owners tries to read what the runners in these folders said. An error is kept: it tells whose
// the folder is, or that it does not answer.
func (y *eyes) owners(boxes []box) map[box]error {
	out := make(map[box]error, len(boxes))
	for _, b := range boxes {
		_, _, out[b] = y.mail.Runner(b.token, b.uid)
	}
	return out
}

// word is what a runner said last.
type word struct {
	runner checkpoint.Runner
	ok     bool // it said something
	err    error
}

// words reads what runners said, in the order of the boxes.
func (y *eyes) words(boxes []box) []word {
	out := make([]word, len(boxes))
	for i, b := range boxes {
		out[i].runner, out[i].ok, out[i].err = y.mail.Runner(b.token, b.uid)
	}
	return out
}

// wordsNow is words, none of them older than the call.
func (y *eyes) wordsNow(boxes []box) []word {
	out := make([]word, len(boxes))
	for i, b := range boxes {
		out[i].runner, out[i].ok, out[i].err = y.mail.RunnerNow(b.token, b.uid)
	}
	return out
}

// past is the history of a job.
type past struct {
	segments []journal.Segment
	err      error
}

// histories reads the past runs of jobs by their tokens.
func (y *eyes) histories(ctx context.Context, tokens []string) map[string]past {
	out := make(map[string]past, len(tokens))
	for _, token := range tokens {
		segments, err := y.journal.Segments(ctx, token)
		out[token] = past{segments, err}
	}
	return out
}

// details asks about single jobs. Those that Slurm does not answer about are missing.
func (y *eyes) details(ctx context.Context, ids []slurm.JobID) map[slurm.JobID]slurm.Detail {
	out := make(map[slurm.JobID]slurm.Detail, len(ids))
	for _, id := range ids {
		if detail, err := y.slurm.Job(ctx, id); err == nil {
			out[id] = detail
		}
	}
	return out
}

// runs asks accounting how jobs ended. late: it has been asked and has not answered.
func (y *eyes) runs(ctx context.Context, ids []slurm.JobID, since time.Time) (runs []slurm.PastRun, late bool, err error) {
	runs, err = y.accountant.Past(ctx, ids, since)
	if errors.Is(err, ErrAsking) {
		return nil, true, nil
	}
	return runs, false, err
}
