package slurm

import "time"

// JobID is Slurm's number for a job, at least 1. A sluice job keeps one JobID for its
// whole life.
type JobID int64

// State is a job's base state as Slurm names it in full (squeue's "state", scontrol's
// "JobState"), without the flags, which are separate fields of Job.
type State string

// The base states Slurm 20.11 to 26.05 can report.
const (
	Pending     State = "PENDING"
	Running     State = "RUNNING"
	Suspended   State = "SUSPENDED"
	Completed   State = "COMPLETED"
	Cancelled   State = "CANCELLED"
	Failed      State = "FAILED"
	Timeout     State = "TIMEOUT"
	NodeFail    State = "NODE_FAIL"
	Preempted   State = "PREEMPTED"
	BootFail    State = "BOOT_FAIL"
	Deadline    State = "DEADLINE"
	OutOfMemory State = "OUT_OF_MEMORY"
	// Unknown is any state that this version does not know; the job is left alone.
	Unknown State = "UNKNOWN"
)

// Ended reports whether the state is final unless the job is requeued.
func (s State) Ended() bool {
	switch s {
	case Completed, Cancelled, Failed, Timeout, NodeFail, Preempted, BootFail, Deadline, OutOfMemory:
		return true
	}
	return false
}

// Job is one job as the bulk query shows it.
type Job struct {
	ID        JobID
	Array     bool // part of a job array
	Het       bool // part of a heterogeneous job
	Name      string
	User      string
	UID       uint32
	Account   string
	Partition string // several, comma separated, while pending
	QOS       string

	State      State
	Completing bool // processes or epilog of the last run have not ended yet
	// Requeued is set while Slurm shows the job as requeued or requeue-held and its last
	// run is being cleaned up.
	Requeued bool
	Held     bool // priority 0: will not start, or not start again, by itself
	// Priority is what Slurm's scheduler orders jobs by: 0 to 4294967292, higher first; 0 =
	// held, or not known. With priority/multifactor it is the sum of all weighted factors,
	// renewed every PriorityCalcPeriod (5 min by default, at least 1 min) where there is
	// slurmdbd, also while the job is deferred; its age factor is 0 until it is eligible
	// (but for PriorityFlags=ACCRUE_ALWAYS; see Deferrer for a job that is deferred again).
	// With priority/basic it falls from job to job.
	Priority int64
	Reason   string // Slurm's reason: Resources, Priority, JobHeldUser, BeginTime ...
	// Dependency is what a pending job waits for, in the syntax of ParseDependency; "" =
	// nothing. For a held job Slurm updates it within a minute only.
	Dependency string

	GPUs      int      // allocated when running, else requested; 0 when none
	Slices    int      // the GPUs among these that are MIG slices
	CPUs      int      // allocated; 0 while it has none
	MemoryMB  int      // allocated; 0 if Slurm does not track it
	Billing   int      // its billing; 0 while it has nothing allocated
	GPUType   string   // "" when the job names none
	NodeCount int      // allocated when running, else requested
	Nodes     []string // allocated nodes in Slurm's order; empty when pending, but see Lingers
	ReqNodes  []string // nodes the job requires
	// ExcNodes are nodes that the job excludes. Slurm before 24.11 does not list them
	// here; see Limits.Excluded.
	ExcNodes []string
	// Constraint is the job's constraint on node features, in the syntax of
	// ParseConstraint; "" if none.
	Constraint string
	Licenses   string // requested, as "matlab:2,stata:1"; "" = none
	Restarts   int    // times the job was requeued: SLURM_RESTART_COUNT

	Submit time.Time
	// Eligible is the earliest start, also of a held job; zero when unknown. A requeue
	// sets it if it is not in the future: 2 minutes after Submit by default.
	Eligible  time.Time
	Start     time.Time     // zero when pending without an estimate
	End       time.Time     // of an ended job; else zero
	TimeLimit time.Duration // 0 = unlimited
	TimeLeft  time.Duration // 0 when not running or unlimited

	// ExitCode and ExitSignal are those of the batch script, once the job has ended.
	ExitCode, ExitSignal int
	StdOut               string

	WorkDir string
	Comment string
}

// Lingers reports whether Slurm shows a pending job on nodes: it did not remove the job's
// last run. See Client.Clear.
func (j Job) Lingers() bool { return j.State == Pending && !j.Completing && len(j.Nodes) > 0 }

// OnNodes reports whether the job's processes hold nodes now.
func (j Job) OnNodes() bool {
	return (j.State == Running || j.State == Suspended || j.Completing) && len(j.Nodes) > 0
}

// Whole returns how many whole GPUs the job has, or requests. MIG slices are not counted:
// they cannot be used by a job that waits for whole GPUs.
func (j Job) Whole() int { return max(0, j.GPUs-j.Slices) }

// GPUShare is the GPUs that a job holds on one node.
type GPUShare struct {
	Node string
	GPUs int
	IDs  []int // indices on the node; empty if Slurm does not report them
}

// Detail is a job as the per-job query shows it, with the true split of GPUs.
type Detail struct {
	Job
	Split   []GPUShare // in Slurm's node order; empty unless running or completing
	Requeue bool       // Requeue=1
}

// LaunchIO is the ExitSignal of a job whose output or error file could not be opened: the
// low bits of slurmd's ESLURMD_IO_ERROR, at the position of the signal in a wait status.
// The script was never started. Reason is JobLaunchFailure in Slurm 22.05 and contains
// the signal in later releases; Slurm 20.11 reports only an ExitCode of 1.
const LaunchIO = 53
