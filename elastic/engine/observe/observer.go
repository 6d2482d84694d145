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

// ErrSuspicious marks an answer that is well-formed but implausible, and is not used.
var ErrSuspicious = errors.New("suspicious answer from Slurm")

// Observer makes all reads of an observation. Its interfaces are the reading halves of the engine's,
// so that it cannot change anything.
type Observer struct {
	Slurm      Queries
	Mail       Reader
	Journal    Records
	Limiter    slurm.Limiter    // nil = the site has no limits
	Sharer     slurm.Sharer     // nil = the site has no shares
	Accountant slurm.Accountant // nil = how jobs ended that Slurm has forgotten stays unknown
	Accounts   Accounts         // nil = no user's uid is known
	Between    func()           // called between two queries; nil = not called

	limits limitsAsked
	shares sharesAsked
}

// Queries are the queries to Slurm. See slurm.Client.
type Queries interface {
	Jobs(ctx context.Context) ([]slurm.Job, error)
	Nodes(ctx context.Context) ([]slurm.Node, error)
	Job(ctx context.Context, id slurm.JobID) (slurm.Detail, error)
}

// Records are the reads of the journal. See journal.Journal.
type Records interface {
	Open(ctx context.Context) ([]elastic.Intent, error)
	Written(ctx context.Context) (map[elastic.JobID]int, error)
	Jobs(ctx context.Context, since time.Time) ([]journal.JobRecord, error)
	Segments(ctx context.Context, token string) ([]journal.Segment, error)
	Health(ctx context.Context) (elastic.Health, error)
	Answers(ctx context.Context) ([]journal.Answer, error)
	Credits(ctx context.Context) ([]journal.Credit, error)
}

// Look is one observation of the cluster.
type Look struct {
	Jobs  []slurm.Job
	Nodes []slurm.Node
	Old   bool // Nodes are those of the last observation
}

// Nodes queries Slurm for the nodes. An empty answer is an error (ErrSuspicious).
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

// Box is the folder of a job and the user that must own it: the user that Slurm runs the job as.
type Box struct {
	Token    string
	SlurmUID uint32
}

// CheckFolders checks who owns these folders by reading their runners' status. The error of each is kept:
// checkpoint.ErrOwner if another user owns it, *Unanswered if it hangs.
func (o *Observer) CheckFolders(boxes []Box) map[Box]error {
	out := make(map[Box]error, len(boxes))
	for _, b := range boxes {
		_, _, out[b] = o.Mail.Runner(b.Token, b.SlurmUID)
	}
	return out
}

// Word is a runner's last status.
type Word struct {
	Runner checkpoint.Runner
	OK     bool // there is a status
	Err    error
}

// Words reads the runners' status, in the order of boxes.
func (o *Observer) Words(boxes []Box) []Word {
	out := make([]Word, len(boxes))
	for i, b := range boxes {
		out[i].Runner, out[i].OK, out[i].Err = o.Mail.Runner(b.Token, b.SlurmUID)
	}
	return out
}

// WordsNow is Words, but no status is older than the call.
func (o *Observer) WordsNow(boxes []Box) []Word {
	out := make([]Word, len(boxes))
	for i, b := range boxes {
		out[i].Runner, out[i].OK, out[i].Err = o.Mail.RunnerNow(b.Token, b.SlurmUID)
	}
	return out
}

// History is a job's past runs.
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

// Details queries single jobs. Jobs whose query failed are missing from the result.
func (o *Observer) Details(ctx context.Context, ids []slurm.JobID) map[slurm.JobID]slurm.Detail {
	out := make(map[slurm.JobID]slurm.Detail, len(ids))
	for _, id := range ids {
		if detail, err := o.Slurm.Job(ctx, id); err == nil {
			out[id] = detail
		}
	}
	return out
}

// PastRuns queries accounting for how jobs ended. late: it has not answered yet.
func (o *Observer) PastRuns(ctx context.Context, ids []slurm.JobID, since time.Time) (runs []slurm.PastRun, late bool, err error) {
	runs, err = o.Accountant.Past(ctx, ids, since)
	if errors.Is(err, ErrAsking) {
		return nil, true, nil
	}
	return runs, false, err
}

// LetIn calls between, if set: users' requests (engine.Direct and Meet) are handled there, so that
// they do not wait for the end of the cycle.
func LetIn(between func()) {
	if between != nil {
		between()
	}
}
