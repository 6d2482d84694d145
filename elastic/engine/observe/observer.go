package observe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/slurm"
)

// ErrSuspicious marks an answer that is legal but not believed.
var ErrSuspicious = errors.New("suspicious answer from Slurm")

// Observer reads what an observation is made of. Its seams are the reading halves of those of the
// engine, so that it cannot change anything. It knows nothing of jobs but what it is asked about.
type Observer struct {
	Slurm      Queries
	Mail       Reader
	Journal    Records
	Limiter    slurm.Limiter    // nil = the site has no limits
	Accountant slurm.Accountant // nil = how jobs ended that Slurm has forgotten stays unknown
	Between    func()           // called between two queries; nil = nothing is

	limits limitsAsked
}

// Queries are what is asked of Slurm. See slurm.Client.
type Queries interface {
	Jobs(ctx context.Context) ([]slurm.Job, error)
	Nodes(ctx context.Context) ([]slurm.Node, error)
	Job(ctx context.Context, id slurm.JobID) (slurm.Detail, error)
}

// Records are what the journal is asked for. See journal.Journal.
type Records interface {
	Open(ctx context.Context) ([]elastic.Intent, error)
	Written(ctx context.Context) (map[elastic.JobID]int, error)
	Jobs(ctx context.Context, since time.Time) ([]journal.JobRecord, error)
	Segments(ctx context.Context, token string) ([]journal.Segment, error)
	Health(ctx context.Context) (elastic.Health, error)
	Answers(ctx context.Context) ([]journal.Answer, error)
}

// Look is one look at the cluster.
type Look struct {
	Jobs  []slurm.Job
	Nodes []slurm.Node
	Old   bool // nodes are those of the look before
}

// Nodes asks Slurm for the nodes. An empty answer is never "nothing there": a
// cluster has nodes.
func (o *Observer) Nodes(ctx context.Context) ([]slurm.Node, error) {
	fresh, err := o.Slurm.Nodes(ctx)
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
func (o *Observer) Owners(boxes []Box) map[Box]error {
	out := make(map[Box]error, len(boxes))
	for _, b := range boxes {
		_, _, out[b] = o.Mail.Runner(b.Token, b.UID)
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
func (o *Observer) Words(boxes []Box) []Word {
	out := make([]Word, len(boxes))
	for i, b := range boxes {
		out[i].Runner, out[i].OK, out[i].Err = o.Mail.Runner(b.Token, b.UID)
	}
	return out
}

// WordsNow is Words, none of them older than the call.
func (o *Observer) WordsNow(boxes []Box) []Word {
	out := make([]Word, len(boxes))
	for i, b := range boxes {
		out[i].Runner, out[i].OK, out[i].Err = o.Mail.RunnerNow(b.Token, b.UID)
	}
	return out
}

// History is the history of a job.
type History struct {
	Segments []journal.Segment
	Err      error
}

// Histories reads the past runs of jobs by their tokens.
func (o *Observer) Histories(ctx context.Context, tokens []string) map[string]History {
	out := make(map[string]History, len(tokens))
	for _, token := range tokens {
		segments, err := o.Journal.Segments(ctx, token)
		out[token] = History{segments, err}
	}
	return out
}

// Details asks about single jobs. Those that Slurm does not answer about are missing.
func (o *Observer) Details(ctx context.Context, ids []slurm.JobID) map[slurm.JobID]slurm.Detail {
	out := make(map[slurm.JobID]slurm.Detail, len(ids))
	for _, id := range ids {
		if detail, err := o.Slurm.Job(ctx, id); err == nil {
			out[id] = detail
		}
	}
	return out
}

// PastRuns asks accounting how jobs ended. late: it has been asked and has not answered.
func (o *Observer) PastRuns(ctx context.Context, ids []slurm.JobID, since time.Time) (runs []slurm.PastRun, late bool, err error) {
	runs, err = o.Accountant.Past(ctx, ids, since)
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
