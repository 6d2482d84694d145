package journal

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// Journal stores what must survive the daemon. A write is durable when its method returns nil and
// has changed nothing when it returns an error.
// Implementations: store (SQLite), Memory (in this package).
type Journal interface {
	// Intend stores new intents in one transaction and gives them IDs. The caller MUST go on
	// with what is returned, since ins has no IDs. It returns ErrIntentOpen, and stores none,
	// if a job has an open one already or twice in ins.
	Intend(ctx context.Context, ins []elastic.Intent) ([]elastic.Intent, error)
	// Advance stores an open intent's new step. All fields are replaced. It returns ErrNoIntent
	// if none with that ID and job is open.
	Advance(ctx context.Context, in elastic.Intent) error
	// Close ends an intent. Closing it again is no error and changes nothing. It returns
	// ErrNoIntent if there never was one with that ID and job.
	Close(ctx context.Context, in elastic.Intent, how elastic.Outcome, why reason.Reason, at time.Time) error
	// Open returns the open intents in order of ID. A store returns an error if one of them is
	// of a kind or a step that only a newer sluice knows.
	Open(ctx context.Context) ([]elastic.Intent, error)
	// Written returns the highest incarnation that each job's moves, open and closed, have
	// written to Slurm, as far back as moves are kept. A job's record may have an older one if
	// the daemon crashed before it saved the record.
	Written(ctx context.Context) (map[elastic.JobID]int, error)

	// SaveJobs inserts or replaces records by token in one transaction.
	SaveJobs(ctx context.Context, records []JobRecord) error
	// Jobs returns the records of jobs that have not ended, or ended after since, in order of
	// Submitted, then ID. A zero since = all that are kept.
	Jobs(ctx context.Context, since time.Time) ([]JobRecord, error)

	// SaveSegments inserts or replaces segments by (token, restarts).
	SaveSegments(ctx context.Context, segments []Segment) error
	// Segments returns a job's segments in order of Restarts.
	Segments(ctx context.Context, token string) ([]Segment, error)

	// SaveHealth replaces all complaints about GPUs.
	SaveHealth(ctx context.Context, h elastic.Health) error
	// Health returns them in order of node, GPU and user.
	Health(ctx context.Context) (elastic.Health, error)

	// SaveAnswers inserts or replaces answers by user and key in one transaction. An answer
	// with a zero time is deleted instead.
	SaveAnswers(ctx context.Context, answers []Answer) error
	// Answers returns all answers in order of user and key.
	Answers(ctx context.Context) ([]Answer, error)

	// SaveCredits inserts or replaces credits by account and user in one transaction. One of 0
	// is deleted instead.
	SaveCredits(ctx context.Context, credits []Credit) error
	// Credits returns all credits in order of account and user.
	Credits(ctx context.Context) ([]Credit, error)
}

// Answer says that a job of this user has answered a request with a verified checkpoint.
type Answer struct {
	UID uint32
	Key string    // what the job had: "script/DIGEST" or "model/NAME"
	At  time.Time // when it was noted last, to the day
}

// Samples stores observed speeds across jobs. model is the key of a series, see learn.Keys; at most
// MaxSamples are kept of each. A sample MUST be added once: there is no key to find it by.
type Samples interface {
	AddSamples(ctx context.Context, model string, samples []speed.Sample) error
	// Samples returns the newest samples of a model, oldest first, at most limit.
	Samples(ctx context.Context, model string, limit int) ([]speed.Sample, error)
}

// Errors of every Journal. Test with errors.Is.
var (
	// ErrIntentOpen: the job already has an open intent.
	ErrIntentOpen = errors.New("a move of this job is already open in the journal")
	// ErrNoIntent: the journal holds no such open intent.
	ErrNoIntent = errors.New("no such open move in the journal")
)

// Position is a job in the order in which past jobs are read in pages: those that have not ended by
// token, then those that have by end and token. The zero value is before the first. Ended and Token
// are those of the last job that was looked at.
type Position struct {
	Past  bool // it has ended
	Ended time.Time
	Token string
}

// ErrPageFull ends a page of past jobs.
var ErrPageFull = errors.New("the page is full")
