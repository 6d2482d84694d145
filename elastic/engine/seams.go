package engine

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// Journal keeps what must survive the daemon. Every method is durable when it
// returns nil and leaves everything as it was when it returns an error.
// Implementations: store (SQLite), Memory (in this package).
type Journal interface {
	// Intend stores new intents in one transaction and gives them IDs.
	Intend(ctx context.Context, ins []elastic.Intent) ([]elastic.Intent, error)
	// Advance stores an open intent's new step.
	Advance(ctx context.Context, in elastic.Intent) error
	// Close ends an intent. Closing it again is no error.
	Close(ctx context.Context, in elastic.Intent, how elastic.Outcome, why reason.Reason, at time.Time) error
	// Open returns the open intents in order of ID.
	Open(ctx context.Context) ([]elastic.Intent, error)
	// Written returns the highest incarnation that each job's moves have written, open
	// ones and closed, as far back as they are kept. A record that was to be saved after
	// that may have been lost with the daemon.
	Written(ctx context.Context) (map[elastic.JobID]int, error)

	// SaveJobs inserts or replaces records by token in one transaction.
	SaveJobs(ctx context.Context, records []JobRecord) error
	// Jobs returns the records of jobs that have not ended, or ended after
	// since, in order of Submitted, then ID.
	Jobs(ctx context.Context, since time.Time) ([]JobRecord, error)

	// SaveSegments inserts or replaces segments by (token, restarts).
	SaveSegments(ctx context.Context, segments []Segment) error
	// Segments returns a job's segments in order of Restarts.
	Segments(ctx context.Context, token string) ([]Segment, error)

	// SaveHealth replaces what is said against the GPUs of nodes.
	SaveHealth(ctx context.Context, h elastic.Health) error
	// Health returns it, in order of node, GPU and user.
	Health(ctx context.Context) (elastic.Health, error)

	// SaveAnswers inserts or replaces answers by user and key in one transaction; one of
	// a zero time is forgotten instead.
	SaveAnswers(ctx context.Context, answers []Answer) error
	// Answers returns them in order of user and key.
	Answers(ctx context.Context) ([]Answer, error)
}

// Answer says that a job of this user has answered a request with a verified checkpoint.
type Answer struct {
	UID uint32
	Key string    // what the job had: "script/DIGEST" or "model/NAME"
	At  time.Time // when it was noted last, to the day
}

// Samples keeps observed speeds across jobs.
type Samples interface {
	AddSamples(ctx context.Context, model string, samples []speed.Sample) error
	// Samples returns the newest samples of a model, oldest first, at most limit.
	Samples(ctx context.Context, model string, limit int) ([]speed.Sample, error)
}

// Mailbox is the shared file system as the daemon uses it. Reads are bounded,
// follow no links and check that the job's user owns what is read. A folder below which the
// file system hangs gives an *Unanswered.
type Mailbox interface {
	Reader
	Outbox
}

// Outbox is what the daemon writes for jobs. All writes are atomic and repeatable.
type Outbox interface {
	// Ask writes a request; Withdraw removes whatever request there is; Aim
	// writes the target.
	Ask(token string, r checkpoint.Request) error
	Withdraw(token string) error
	Aim(token string, t checkpoint.Target) error
	// Forget removes the job's outbox folder.
	Forget(token string) error
}

// JobRecord is what the daemon remembers about a job, live or ended.
type JobRecord struct {
	Token     string // key
	ID        elastic.JobID
	Name      string
	User      string
	UID       uint32
	Partition string
	Tag       elastic.Tag
	Submitted time.Time // first submit
	FirstRun  time.Time // first time seen running; zero before
	Ended     time.Time // zero while alive
	State     string    // Slurm's last word
	// Place is the last known split, Restarts the run it belongs to.
	Place    nodes.Placement
	Restarts int
	Speaks   bool
	Deaf     int
	Done     float64
	Offset   int64 // read so far of progress.jsonl
	Moved    time.Time
	Price    elastic.Price
	// Promised: it was told that it ends by its deadline.
	Promised bool `json:",omitempty"`
	// Barred: Slurm itself holds the job, as an administrator would, since its dependency
	// cannot be satisfied. It goes on doing so once the dependency is gone.
	Barred bool `json:",omitempty"`
	// Ending is how it ended; zero while it lives.
	Ending Ending `json:",omitzero"`
}

// Segment is one run of a job between two moves.
type Segment struct {
	Token       string          `json:"-"`
	Restarts    int             `json:"restarts"`
	Incarnation int             `json:"incarnation"`
	Place       nodes.Placement `json:"place"`
	Started     time.Time       `json:"started"`
	Ended       time.Time       `json:"ended"` // zero while it runs
	DoneFrom    float64         `json:"done_from"`
	DoneTo      float64         `json:"done_to"`
	Seconds     float64         `json:"seconds"` // a unit of work, lately; 0 = unknown
	Cause       reason.Reason   `json:"-"`
	Price       elastic.Price   `json:"price"` // paid to get here
}
