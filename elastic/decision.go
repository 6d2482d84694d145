package elastic

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// Decision is a policy's decision on one job.
type Decision struct {
	// GPUs is the size that the job gets. 0 = none now: it waits or, if Limits.Preempt allows
	// it, is stopped after a checkpoint.
	GPUs int
	// Place is its nodes, with GPUs in all; nil lets Arrange choose. A running job whose Place
	// differs from its present one moves, even at the same size.
	Place nodes.Placement
	// Within lists those of the job's partitions that the place has to be in; "" = any. A
	// running job that is in none of them moves there once GPUs are free.
	Within string
	// Leaves: with 0 GPUs, a running job is stopped after a checkpoint whatever Limits.Preempt
	// says, because its GPUs are reclaimed.
	Leaves bool
	// Reserves: the job waits with a reservation: idle GPUs are kept for it, and later jobs
	// start first only if that does not delay it (backfill). Behind is the job whose
	// reservation this job waits for; 0 = none.
	Reserves bool
	Behind   JobID
	Why      reason.Reason // why this size, why now
	// Promised: the job is admitted: it will end by its deadline, whatever jobs come later.
	// Ends is when it is expected to end; zero = not known or not needed.
	Promised bool
	Ends     time.Time
	Due      Due
}

// Due is the result of a decision for a job's deadline.
type Due string

// The results for a deadline.
const (
	DueUnjudged Due = ""              // it has no deadline, or this decision did not consider it
	DuePromised Due = "promised"      // it will be met; Ends is when
	DueUnknown  Due = "unknown_speed" // the job's throughput is not known yet
	DueUnmet    Due = "unmet"         // it cannot be met; Ends is the earliest end, zero = not known
	DuePassed   Due = "passed"        // the deadline has passed; the job is treated as one without a deadline
)

// Allocation is a policy's answer: a Decision per job. A job without one keeps its allocation.
type Allocation map[JobID]Decision

// Action is one effect as a value: it is logged, recorded and compared, and carried out only
// AFTER that. The set of types is closed.
type Action interface {
	// About returns the job that the action is about.
	About() JobID
	// String is the action as one line for people and logs.
	String() string
}

// The actions. Each may be carried out again without harm.
type (
	// AskCheckpoint puts a request into the job's outbox (and signals the job if its spec says
	// so): save, then wait to be stopped.
	AskCheckpoint struct {
		Job      JobID
		Request  string
		To       int             // the incarnation after the move
		Target   nodes.Placement // empty if the job is to wait
		Deadline time.Time
		Why      reason.Reason
		Stop     bool // after it has answered it is stopped, rather than left to train on
	}
	// WithdrawRequest takes the request back: the job trains on unchanged.
	WithdrawRequest struct {
		Job JobID
		Why reason.Reason
	}
	// Requeue stops the job and leaves it pending, with a begin time that is Slurm's requeue
	// delay ahead.
	Requeue struct{ Job JobID }
	// RequeueFailed requeues a job that Slurm calls FAILED, so that it is pending as after
	// Requeue.
	RequeueFailed struct{ Job JobID }
	// RequeueLingering makes Slurm drop the last run of a pending job that it still counts on
	// nodes: the job is cancelled and requeued, and is pending as after Requeue.
	RequeueLingering struct{ Job JobID }
	// CancelLane ends a pending lane of a sweep that is over.
	CancelLane struct{ Job JobID }
	// Defer keeps a pending job from being started by Slurm before that time.
	Defer struct {
		Job   JobID
		Until time.Time
	}
	// Write sets size, nodes and incarnation of a pending job, and defers it by that much.
	Write struct {
		Job        JobID
		To         int
		Target     nodes.Placement
		AnyNodes   bool // only the size is set; Slurm chooses the nodes
		Checkpoint string
		Defer      time.Duration
	}
	// LetStart lets Slurm start a deferred job. First: it has never run, so that it may start in
	// the present second; see slurm.Deferrer.StartFirst.
	LetStart struct {
		Job   JobID
		First bool
	}
	// Hold holds the job as its user ordered ("sluice hold").
	Hold struct{ Job JobID }
	// Release ends a hold: its user ordered it ("sluice release"), or it is one that an older
	// sluice set.
	Release struct{ Job JobID }
	// RequestPass asks Slurm for a scheduling pass, for a pending job that could start. The job
	// itself is not changed.
	RequestPass struct{ Job JobID }
	// Annotate writes the job's tag into its comment.
	Annotate struct {
		Job       JobID
		Directive Directive
	}
)

// JobReason is why one job is moved, or is not, for queue, explain and plan.
type JobReason struct {
	Job JobID
	Why reason.Reason
	// Promised and Ends are those of the job's Decision.
	Promised bool
	Ends     time.Time
	Due      Due
}

// Plan is the result of a cycle's planning: the moves to open, and for each job why it is
// moved, or is not.
type Plan struct {
	Open    []Intent                  // new intents, without IDs yet
	Reasons []JobReason               // one per job, in order of the snapshot
	Target  map[JobID]nodes.Placement // the place of each job after the plan
	// Contend are waiting jobs that Slurm is to start in its own order, at their minimum: an
	// ordinary job of lower priority waits for GPUs that they could use.
	Contend []JobID
}
