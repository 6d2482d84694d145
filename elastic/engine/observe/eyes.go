package observe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/slurm"
)

// ErrSuspicious marks an answer that is legal but not believed.
var ErrSuspicious = errors.New("suspicious answer from Slurm")

// Eyes read what an observation is made of. They change nothing, and know nothing of jobs but
// what they are asked about.
type Eyes struct {
	Slurm      slurm.Client
	Mail       Reader
	Journal    Histories
	Limiter    slurm.Limiter
	Accountant slurm.Accountant
	Between    func() // called between two queries; nil = nothing is

	limits limitsAsked
}

// Histories are the past runs of jobs, as the journal has them.
type Histories interface {
	// Segments returns a job's segments in order of Restarts.
	Segments(ctx context.Context, token string) ([]journal.Segment, error)
}

// Look is one look at the cluster.
type Look struct {
	Jobs  []slurm.Job
	Nodes []slurm.Node
	Old   bool // nodes are those of the look before
}

// Nodes asks Slurm for the nodes. An empty answer is never "nothing there": a
// cluster has nodes.
func (y *Eyes) Nodes(ctx context.Context) ([]slurm.Node, error) {
	fresh, err := y.Slurm.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	if len(fresh) == 0 {
		return nil, fmt.Errorf("%w: no nodes at all", ErrSuspicious)
	}
	return fresh, nil
}

// Box is the folder of a job, and whose it must be.
type Box struct {
	Token string
	UID   uint32
}

// Owners tries to read what the runners in these folders said. An error is kept: it tells whose
// the folder is, or that it does not answer.
func (y *Eyes) Owners(boxes []Box) map[Box]error {
	out := make(map[Box]error, len(boxes))
	for _, b := range boxes {
		_, _, out[b] = y.Mail.Runner(b.Token, b.UID)
	}
	return out
}

// Word is what a runner said last.
type Word struct {
	Runner checkpoint.Runner
	OK     bool // it said something
	Err    error
}

// Words reads what runners said, in the order of the boxes.
func (y *Eyes) Words(boxes []Box) []Word {
	out := make([]Word, len(boxes))
	for i, b := range boxes {
		out[i].Runner, out[i].OK, out[i].Err = y.Mail.Runner(b.Token, b.UID)
	}
	return out
}

// WordsNow is words, none of them older than the call.
func (y *Eyes) WordsNow(boxes []Box) []Word {
	out := make([]Word, len(boxes))
	for i, b := range boxes {
		out[i].Runner, out[i].OK, out[i].Err = y.Mail.RunnerNow(b.Token, b.UID)
	}
	return out
}

// History is the history of a job.
type History struct {
	Segments []journal.Segment
	Err      error
}

// Histories reads the past runs of jobs by their tokens.
func (y *Eyes) Histories(ctx context.Context, tokens []string) map[string]History {
	out := make(map[string]History, len(tokens))
	for _, token := range tokens {
		segments, err := y.Journal.Segments(ctx, token)
		out[token] = History{segments, err}
	}
	return out
}

// Details asks about single jobs. Those that Slurm does not answer about are missing.
func (y *Eyes) Details(ctx context.Context, ids []slurm.JobID) map[slurm.JobID]slurm.Detail {
	out := make(map[slurm.JobID]slurm.Detail, len(ids))
	for _, id := range ids {
		if detail, err := y.Slurm.Job(ctx, id); err == nil {
			out[id] = detail
		}
	}
	return out
}

// PastRuns asks accounting how jobs ended. late: it has been asked and has not answered.
func (y *Eyes) PastRuns(ctx context.Context, ids []slurm.JobID, since time.Time) (runs []slurm.PastRun, late bool, err error) {
	runs, err = y.Accountant.Past(ctx, ids, since)
	if errors.Is(err, ErrAsking) {
		return nil, true, nil
	}
	return runs, false, err
}

// LetIn lets in what may be done between two effects of a cycle (Direct and Meet), so that an
// order does not wait for all that a cycle does.
func LetIn(between func()) {
	if between != nil {
		between()
	}
}
