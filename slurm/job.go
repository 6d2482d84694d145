package slurm

import "time"

// JobID is Slurm's own number for a job, at least 1. A sluice job keeps one
// JobID for life.
type JobID int64

// State is a job's base state as Slurm names it in full (squeue's "state",
// scontrol's "JobState"), without the flags, which Job carries apart.
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
	// Unknown is any word this version does not know; the job is left alone.
	Unknown State = "UNKNOWN"
)

// Ended reports whether the state is final unless somebody requeues the job.
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
	Completing bool // processes or epilog of the last run are not yet gone
	// Requeued is set while Slurm shows the job as requeued or requeue-held
	// and its last run is being cleaned away.
	Requeued bool
	Held     bool   // priority 0: will not start, or not start again, by itself
	Reason   string // Slurm's word: Resources, Priority, JobHeldUser, BeginTime ...
	// Dependency is what a pending job waits for, as ParseDependency reads it; "" = nothing.
	// Of a held job Slurm renews it within a minute only.
	Dependency string

	GPUs      int      // allocated when running, else asked for; 0 when none
	Slices    int      // those of GPUs that are MIG slices
	CPUs      int      // allocated; 0 while it has none
	MemoryMB  int      // allocated; 0 where Slurm does not track it
	Billing   int      // what it counts for as billing; 0 while it has nothing
	GPUType   string   // "" when the job names none
	NodeCount int      // allocated when running, else asked for
	Nodes     []string // allocated nodes in Slurm's order; empty when pending, but see Lingers
	ReqNodes  []string // nodes the job insists on
	// ExcNodes are nodes the job will not have. Slurm before 24.11 does not list them
	// here; see Limits.Excluded.
	ExcNodes []string
	// Constraint is what it asks of its nodes' features, as ParseConstraint reads it; ""
	// when nothing.
	Constraint string
	Licenses   string // that it asks for, as "matlab:2,stata:1"; "" = none
	Restarts   int    // times the job was requeued: SLURM_RESTART_COUNT

	Submit time.Time
	// Eligible is the earliest start, also of a held job; zero when unknown. A requeue sets
	// it where it is not in the future: two minutes after Submit by default.
	Eligible  time.Time
	Start     time.Time     // zero when pending without an estimate
	End       time.Time     // of an ended job; else zero
	TimeLimit time.Duration // 0 = unlimited
	TimeLeft  time.Duration // 0 when not running or unlimited

	// ExitCode and ExitSignal of the batch script once the job ended.
	ExitCode, ExitSignal int
	StdOut               string

	WorkDir string
	Comment string
}

// Lingers reports whether Slurm shows a pending job on nodes: it has lost track of the
// job's last run. See Client.Clear.
func (j Job) Lingers() bool { return j.State == Pending && !j.Completing && len(j.Nodes) > 0 }

// OnNodes reports whether the job's processes hold nodes now.
func (j Job) OnNodes() bool {
	return (j.State == Running || j.State == Suspended || j.Completing) && len(j.Nodes) > 0
}

// Whole returns how many whole GPUs the job has, or asks for: MIG slices are others,
// and of no use to who waits for GPUs.
func (j Job) Whole() int { return max(0, j.GPUs-j.Slices) }

// GPUShare is the GPUs a job holds on one node.
type GPUShare struct {
	Node string
	GPUs int
	IDs  []int // indices on the node; empty when Slurm does not tell
}

// Detail is what only the per-job query tells: the true split of GPUs.
type Detail struct {
	Job
	Split   []GPUShare // in Slurm's node order; empty unless running or completing
	Requeue bool       // Requeue=1
}

// LaunchIO is the ExitSignal of a job whose output or error file could not be opened: the
// low bits of slurmd's ESLURMD_IO_ERROR, where a wait status has its signal. The script
// was never started. Reason is JobLaunchFailure in Slurm 22.05 and names the signal since;
// Slurm 20.11 tells no more than an ExitCode of 1.
const LaunchIO = 53
