package elastic

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// Decision is a policy's word on one job.
type Decision struct {
	// GPUs is the size the job gets; 0 = none now: it waits, or, where
	// Limits.Preempt allows it, is stopped after a checkpoint.
	GPUs int
	// Place is where, exactly GPUs in all; nil lets Arrange find a place. A
	// running job whose Place differs from where it is moves, at the same size too.
	Place nodes.Placement
	// Within names those of the job's partitions that the place is to be in; "" = any. A
	// running job that is in none of them moves there once it finds GPUs.
	Within string
	// Leaves: with 0 GPUs, a running job is stopped after a checkpoint whatever
	// Limits.Preempt says: its GPUs are another's.
	Leaves bool
	// Reserves: it waits, and idle GPUs gather for it: jobs that came later start in front of
	// it only where that does not delay it. Behind is the job that it waits behind so; 0 = none.
	Reserves bool
	Behind   JobID
	Why      reason.Reason // why this size, why now
	// Promised: the job will end by its deadline, whoever comes after it. Ends is when,
	// as far as can be seen; zero = not in sight, or of no concern.
	Promised bool
	Ends     time.Time
	Due      Due
}

// Due is what a decision makes of a job's deadline, for cmd/sluice to put into English.
type Due string

// What becomes of a deadline.
const (
	DueUnjudged Due = ""              // it has none, or this decision did not look at it
	DuePromised Due = "promised"      // it will be met; Ends is when
	DueUnknown  Due = "unknown_speed" // nobody knows yet how fast the job is
	DueUnmet    Due = "unmet"         // it cannot be met; Ends is the earliest end, zero = none in sight
	DuePassed   Due = "passed"        // the job counts as one without a deadline
)

// Allocation is a policy's answer: GPUs per job. A job it does not name keeps
// what it has.
type Allocation map[JobID]Decision

// Action is one effect as a value: it is printed, recorded, compared and only
// then carried out. The set is closed.
type Action interface {
	// About returns the job the action concerns.
	About() JobID
	// String is the action as one line for people and logs.
	String() string
}

// The actions. Each may be repeated without harm.
type (
	// AskCheckpoint puts a request in the outbox (and signals the job when its
	// spec says so): save, then wait to be stopped.
	AskCheckpoint struct {
		Job      JobID
		Request  string
		To       int             // incarnation that follows
		Target   nodes.Placement // empty when the job is to wait
		Deadline time.Time
		Why      reason.Reason
		Stop     bool // once it has answered it is stopped, not left to train on
	}
	// WithdrawRequest takes the request back: the job trains on as it was.
	WithdrawRequest struct {
		Job JobID
		Why reason.Reason
	}
	// RequeueHold stops the job and leaves it pending and held.
	RequeueHold struct{ Job JobID }
	// Revive brings a job back that Slurm calls FAILED: pending and held.
	Revive struct{ Job JobID }
	// Clear makes Slurm forget the last run of a pending job that it still counts on
	// nodes: cancelled and brought back, pending and held.
	Clear struct{ Job JobID }
	// HoldPending keeps a pending job from starting by itself.
	HoldPending struct{ Job JobID }
	// Write puts size, nodes and incarnation on a held job.
	Write struct {
		Job        JobID
		To         int
		Target     nodes.Placement
		AnyNodes   bool // only the size; Slurm chooses the nodes
		Checkpoint string
	}
	// Release lets Slurm start the job.
	Release struct{ Job JobID }
	// RequestPass asks Slurm for a scheduling pass, for a pending job that it could start.
	// Nothing about the job changes.
	RequestPass struct{ Job JobID }
	// Annotate writes the job's directive into its comment.
	Annotate struct {
		Job       JobID
		Directive Directive
	}
)

// JobReason is why one job is, or is not, moved, for queue, explain and plan.
type JobReason struct {
	Job JobID
	Why reason.Reason
	// Promised and Ends are the decision's word on the job's deadline.
	Promised bool
	Ends     time.Time
	Due      Due
}

// Plan is what a cycle decided: what to write down first, what to do then, and
// why each job is, or is not, moved.
type Plan struct {
	Open    []Intent                  // new intents, IDs not yet given
	Reasons []JobReason               // one a job, in order of the snapshot
	Target  map[JobID]nodes.Placement // where each job is meant to be after the plan
}
