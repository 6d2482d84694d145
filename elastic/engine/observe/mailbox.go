package observe

import "github.com/sluice-hpc/sluice/checkpoint"

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

// Reader reads what jobs and their runners wrote. See Mailbox.
type Reader interface {
	// Runner reads the runner's word; ok is false when there is none yet. A word that could
	// not be read in time may be that of a read a moment ago.
	Runner(token string, uid uint32) (r checkpoint.Runner, ok bool, err error)
	// RunnerNow is Runner, and the word is never older than the call.
	RunnerNow(token string, uid uint32) (r checkpoint.Runner, ok bool, err error)
	// Progress reads complete lines from offset on, at most a bounded number,
	// and returns the offset behind them. Unreadable lines are skipped and
	// reported in bad, with line and column.
	Progress(token string, uid uint32, offset int64) (lines []checkpoint.Progress, next int64, bad []error, err error)
}
