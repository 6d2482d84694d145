package slurm

import (
	"context"
	"io"
	"time"
)

// Client is everything sluice asks of a Slurm. Implementations: command (the
// real programs), fake (in memory). Every method honours ctx and has a deadline
// of its own; every error is an *Error or the context's. Reads are repeatable.
// Changes are repeatable too, except Submit: a change whose outcome is unknown
// (ErrUnknownOutcome) is settled by looking, never by repeating blindly.
type Client interface {
	// Jobs returns all jobs of all users and states Slurm still remembers,
	// ended ones included. One query whatever their number.
	Jobs(ctx context.Context) ([]Job, error)
	// Nodes returns all nodes. One query whatever their number.
	Nodes(ctx context.Context) ([]Node, error)
	// Job returns one job with its true GPU split. ErrNotFound when Slurm has
	// forgotten it or never knew it.
	Job(ctx context.Context, id JobID) (Detail, error)

	// Submit runs sbatch with the arguments as they are and returns the new
	// job and the line sbatch printed.
	Submit(ctx context.Context, s Submission) (JobID, string, error)
	// Signal sends the signal (a name without SIG, such as USR1) to the
	// batch script only if batchOnly is set, else to the job's steps.
	Signal(ctx context.Context, id JobID, signal string, batchOnly bool) error
	// RequeueHold stops a running job and leaves it pending and held.
	RequeueHold(ctx context.Context, id JobID) error
	// Revive requeues and holds a job in state FAILED, so that it is pending and held as
	// after RequeueHold. A job in any other state is left unchanged, without an error.
	Revive(ctx context.Context, id JobID) error
	// Clear makes Slurm forget the last run of a pending job that it still shows on
	// nodes: the job is cancelled, then requeued and held. A job that is already
	// cancelled is requeued too, so call Clear only for a job that an earlier Clear may
	// have cancelled. A job in any other state is left unchanged, without an error.
	Clear(ctx context.Context, id JobID) error
	// Update writes the fields that are set on a job.
	Update(ctx context.Context, id JobID, u Update) error
	// Hold keeps a pending job from starting, as a user hold: the job's owner may release
	// it.
	Hold(ctx context.Context, id JobID) error
	// Release lifts a hold.
	Release(ctx context.Context, id JobID) error
	// RequestPass makes slurmctld run its scheduler soon, by an update of the job that
	// changes nothing. A pass skips jobs whose begin time is in the future, and Slurm
	// schedules no pass for that time. The job must be requeueable and must not have
	// ended.
	RequestPass(ctx context.Context, id JobID) error
	// Cancel ends the job.
	Cancel(ctx context.Context, id JobID) error

	Deferrer
}

// Submission is one call of sbatch.
type Submission struct {
	Args  []string // options, then the script's path and its arguments
	Dir   string   // working directory of the call; "" = this process's
	Env   []string // environment of the call; nil = this process's
	Stdin []byte   // the script when Args names none

	// Stderr receives the warnings that sbatch prints when it accepts the job, such as a
	// note from the site's submit plugin; nil drops them. The text of a refusal is in the
	// error instead.
	Stderr io.Writer
}

// Update lists the fields to write; the zero value of a field leaves it alone.
type Update struct {
	// Partition is the partition of a pending job from now on, or several separated by
	// commas; "" leaves it. The main pass of Slurm's scheduler does not start a job on
	// named nodes unless they belong to all of its partitions: such a job waits for the
	// backfill scheduler, up to 30 s.
	Partition string
	// Nodes, when not empty, is the exact list of nodes: writes
	// NumNodes=n-n, NumTasks=n (one task a node) and ReqNodeList.
	Nodes []string
	// AnyNodes clears ReqNodeList, so that Slurm chooses; NodeCount then
	// gives NumNodes and NumTasks when > 0.
	AnyNodes  bool
	NodeCount int
	// GPUsPerNode asks for the same number on each node and clears the
	// per-job field; GPUsTotal asks for a total that Slurm fills greedily in
	// node order and clears the per-node field. At most one is set.
	GPUsPerNode int
	GPUsTotal   int
	GPUType     string // "" = any type
	CPUs        int    // NumCPUs of the whole job; 0 leaves it
	// StartAfter writes StartTime=now+N, whole seconds, at least 1. It is
	// what removes Slurm's 121 s wait after a requeue.
	StartAfter time.Duration
	// StartAt writes StartTime as this time, rounded up to a whole second, in the same
	// call as the other fields: see Deferrer.Defer. At most one of StartAfter and StartAt
	// is set.
	//
	// A size is written behind a fence: the begin time is moved ahead first, 30 s by
	// default. A size that is written with neither field keeps a begin time that is
	// later than the fence; any other job may start at the end of the fence. If a size
	// with one of them fails halfway, the begin time is the end of the fence.
	StartAt time.Time
	Comment *string
}
