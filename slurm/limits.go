package slurm

import (
	"context"
	"time"
)

// Limiter reports a site's limits. Implementations: command, fake. It takes a few queries
// whatever the number of jobs; call it about once a minute.
type Limiter interface {
	// Limits returns all limits in force, or an error.
	Limits(ctx context.Context) (Limits, error)
}

// Limits is what a site allows beyond the size of its nodes.
type Limits struct {
	// Enforced says that slurmctld enforces the limits of associations and QOS
	// (AccountingStorageEnforce). If it does not, none are listed.
	Enforced     bool
	Associations []Association
	QOS          []QOS
	Partitions   []Partition
	Reservations []Reservation
	// Reserved names the reservation of each job that was submitted into one.
	Reserved map[JobID]string
	// Billing is how a job's billing follows from its weighted resources.
	Billing BillingRule
	// Aging is the age factor of priorities; zero = there is none.
	Aging Aging
	// FairShare is what the shares of accounts and users count; zero = nothing.
	FairShare FairShare
	// Safe says that no job is started that could use up more minutes than its group has
	// left (AccountingStorageEnforce=safe); else jobs are started while any are left.
	Safe bool
	// Excluded are the nodes that jobs exclude, if the release does not report them in
	// Job.ExcNodes.
	Excluded map[JobID][]string
	// Memory is the memory that jobs request other than per GPU. It is listed only if
	// memory is limited somewhere.
	Memory map[JobID]Memory
}

// Aging is the age factor of priority/multifactor. Slurm does not let a job age before its begin
// time (but for PriorityFlags=ACCRUE_ALWAYS: then there is nothing to add, and Weight is 0).
type Aging struct {
	Weight int64         // of a job that has waited for Full or longer (PriorityWeightAge); 0 to 4294967295
	Full   time.Duration // PriorityMaxAge; above 0 if Weight is
}

// After returns what a job's priority gains that has waited for so long: in proportion, up to
// Weight. Source: Slurm's documentation, Multifactor Priority Plugin, "Age Factor".
func (a Aging) After(waited time.Duration) int64 {
	if a.Weight <= 0 || a.Full <= 0 || waited <= 0 {
		return 0
	}
	return int64(float64(a.Weight) * min(1, waited.Seconds()/a.Full.Seconds()))
}

// FairShare is the factor of fair share of priority/multifactor. The tree of shares is a Sharer's.
type FairShare struct {
	Weight   int64         // PriorityWeightFairshare; 0 to 4294967295, 0 = the site's shares decide nothing
	HalfLife time.Duration // of past usage (PriorityDecayHalfLife); 0 = it never decays
}

// DefaultHalfLife is Slurm's default of PriorityDecayHalfLife.
const DefaultHalfLife = 7 * 24 * time.Hour

// Memory is how much memory a job requests, in megabytes. If several are set Slurm does
// not report which of them is meant.
type Memory struct {
	PerNode, PerCPU, PerGPU int64 // 0 = not requested in this form
}

// The resources of an Amount, as Slurm writes them. GPUs of one type are "gres/gpu:TYPE".
const (
	OfGPUs   = "gres/gpu"
	OfCPUs   = "cpu"
	OfNodes  = "node"
	OfMemory = "mem" // megabytes
	// OfBilling is a job's billing by the weights of its partition.
	OfBilling = "billing"
	OfJobs    = "job"  // running jobs
	OfWall    = "wall" // of Budget: wall-clock time of jobs, whatever their size
)

// Amount bounds one resource.
type Amount struct {
	Of string
	N  int // 0 to 1<<44; larger values are reduced to 1<<44
}

// Minutes bounds resources multiplied by minutes of use.
type Minutes struct {
	// Budget is what a group's jobs may use in all (GrpTRESMins, GrpWall), and Used what
	// they have used; Slurm lets Used decay.
	Budget, Used []Amount
	// Group bounds what all running jobs of a group may still use until their time limits
	// (GrpTRESRunMins), and Job what one job may (MaxTRESMins).
	Group, Job []Amount
	// Wall is the longest time limit of a job (MaxWall); 0 = any.
	Wall time.Duration
}

// Association is an account, or a user in an account, with its limits.
type Association struct {
	Account   string
	User      string // "" = the account itself
	Partition string // "" = any
	Parent    string // the account above an account; "" for users and at the top
	// Group bounds all jobs of the association and of those below it together (GrpTRES,
	// GrpJobs), Own its own jobs together (MaxJobs), Job each job (MaxTRES) and Node each
	// node of a job (MaxTRESPerNode). A user's last three include the inherited ones.
	Group, Own, Job, Node []Amount
	Minutes               Minutes
}

// QOS is a quality of service with its limits. They take precedence over limits of an
// association on the same resource.
type QOS struct {
	Name string
	// Group bounds all its jobs together, User those of each user, Account those of each
	// account, Job each job and Node each node of a job. Least is what a job must request
	// at least.
	Group, User, Account, Job, Node, Least []Amount
	Minutes                                Minutes
	// UserMinutes and AccountMinutes are Minutes.Group for each user and account.
	UserMinutes, AccountMinutes []Amount
	// OverPartition: its limits take precedence over those of the partition's QOS.
	OverPartition bool
	// AnyTime: its jobs may request more time than their partition's MaxTime (flag
	// PartitionTimeLimit). As the QOS of a partition it has no such effect.
	AnyTime bool
}

// Partition is the limits of a partition on its jobs.
type Partition struct {
	Name               string
	MinNodes, MaxNodes int           // of a job; 0 = any number
	MaxTime            time.Duration // 0 = no limit
	QOS                string        // its limits apply to all jobs of the partition; "" = none
	Tier               int           // PriorityTier: a job of several starts in the highest; jobs of a lower one may be preempted
	Up                 bool          // jobs are started
	Default            bool          // used for jobs that name no partition
	// CPUsPerNode bounds what all jobs of the partition have on a node together, and
	// MemoryPerNode (megabytes) what a job has on each of its nodes; 0 = any number.
	CPUsPerNode, MemoryPerNode int
	// Weights are the billing weights of resources (TRESBillingWeights); none = 1 for
	// each CPU.
	Weights []Weight
	// Names that may use it; empty = all but those denied.
	AllowAccounts, DenyAccounts, AllowQOS, DenyQOS []string
	// AllowGroups are the groups of the system one of which the job's user must be in; empty = any.
	AllowGroups []string
}

// Weight is the billing weight of one unit of a resource, for memory of one megabyte; see
// slurm.conf(5), TRESBillingWeights.
type Weight struct {
	Of string // OfCPUs, OfNodes, OfMemory, OfGPUs or "gres/gpu:TYPE"
	N  float64
}

// BillingRule is how a job's billing follows from its weighted resources. Slurm rounds
// the result down.
type BillingRule int

const (
	BillSum            BillingRule = iota // the sum of all
	BillLargest                           // the maximum (PriorityFlags=MAX_TRES)
	BillLargestAndGRES                    // the maximum of CPUs, memory and nodes, plus all GRES (MAX_TRES_GRES)
)

// Reservation reserves nodes for some jobs for a time.
type Reservation struct {
	Name       string
	Start, End time.Time
	Nodes      []string
	Maint      bool // for maintenance (flag MAINT)
}
