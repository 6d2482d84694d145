package observe

import "github.com/sluice-hpc/sluice/checkpoint"

// Mailbox is the daemon's access to jobs' folders on the shared file system. Reads are bounded, follow
// no links and check that the job's user owns the file. A call returns an *Unanswered if the file
// system hangs.
type Mailbox interface {
	Reader
	Outbox
}

// Outbox writes the daemon's files for jobs. All writes are atomic and safe to repeat.
type Outbox interface {
	// Ask writes a request, Withdraw removes the request if there is one, Aim writes the
	// target of the next run.
	Ask(token string, r checkpoint.Request) error
	Withdraw(token string) error
	Aim(token string, t checkpoint.Target) error
	// Forget removes the daemon's files for the job.
	Forget(token string) error
}

// Reader reads what jobs and their runners wrote. See Mailbox.
type Reader interface {
	// Runner reads the runner's status; ok is false if there is none yet. If the read takes
	// long, the result of an earlier read may be returned instead.
	Runner(token string, uid uint32) (r checkpoint.Runner, ok bool, err error)
	// RunnerNow is Runner, but the status is never older than the call.
	RunnerNow(token string, uid uint32) (r checkpoint.Runner, ok bool, err error)
	// Progress reads complete lines from offset on, at most a bounded number,
	// and returns the offset behind them. Unreadable lines are skipped and
	// reported in bad, with line and column.
	Progress(token string, uid uint32, offset int64) (lines []checkpoint.Progress, next int64, bad []error, err error)
}
