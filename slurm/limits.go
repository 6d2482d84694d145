package slurm

import (
	"context"
	"time"
)

// Limiter tells what a site allows. Implementations: command, fake. A few queries
// whatever the number of jobs; meant to be asked about once a minute.
type Limiter interface {
	// Limits returns the limits in force, all of them or an error.
	Limits(ctx context.Context) (Limits, error)
}

// Limits is what a site allows beyond what its nodes have.
type Limits struct {
	// Enforced says that slurmctld enforces the limits of associations and QOS
	// (AccountingStorageEnforce). Where it does not, none are listed.
	Enforced     bool
	Associations []Association
	QOS          []QOS
	Partitions   []Partition
	Reservations []Reservation
	// Reserved names the reservation of each job that was submitted into one.
	Reserved map[JobID]string
	// Billing is how a job's weighted resources come to its billing.
	Billing BillingRule
	// Safe says that no job is started that could use up more minutes than its group
	// has left (AccountingStorageEnforce=safe); else one is as long as some are left.
	Safe bool
	// Excluded are the nodes that jobs will not have, where the release does not tell in
	// Job.ExcNodes.
	Excluded map[JobID][]string
	// Memory is what jobs ask for other than for each GPU. It is listed only where
	// memory is limited somewhere.
	Memory map[JobID]Memory
}

// Memory is how much memory a job asks for, in megabytes. Where several are set Slurm
// does not tell which of them is meant.
type Memory struct {
	PerNode, PerCPU, PerGPU int64 // 0 = not asked for so
}

// What an Amount is of, as Slurm writes it. GPUs of one type are "gres/gpu:TYPE".
const (
	OfGPUs   = "gres/gpu"
	OfCPUs   = "cpu"
	OfNodes  = "node"
	OfMemory = "mem" // megabytes
	// OfBilling is what a job counts for by the weights of its partition.
	OfBilling = "billing"
	OfJobs    = "job"  // jobs that run
	OfWall    = "wall" // of Budget: jobs, whatever their size
)

// Amount bounds one resource.
type Amount struct {
	Of string
	N  int // at least 0; what is more than 1<<44 is 1<<44
}

// Minutes bounds resources times the minutes they are had.
type Minutes struct {
	// Budget is what a group's jobs may use up in all as time goes by (GrpTRESMins,
	// GrpWall), and Used what they have used up; Slurm lets that fade away.
	Budget, Used []Amount
	// Group bounds what all running jobs of a group may still come to, each by its
	// time limit (GrpTRESRunMins), and Job what one may (MaxTRESMins).
	Group, Job []Amount
	// Wall is the longest time limit of a job (MaxWall); 0 = any.
	Wall time.Duration
}

// Association is an account, or a user in an account, with its limits.
type Association struct {
	Account   string
	User      string // "" = the account itself
	Partition string // "" = any
	Parent    string // the account above an account; "" of users and at the top
	// Group bounds all jobs of the association and of those below it together
	// (GrpTRES, GrpJobs), Own its own jobs together (MaxJobs), Job each job
	// (MaxTRES) and Node each node of a job (MaxTRESPerNode). Of a user the last
	// three hold what he inherits as well.
	Group, Own, Job, Node []Amount
	Minutes               Minutes
}

// QOS is a quality of service with its limits. What it sets goes before what an
// association sets for the same.
type QOS struct {
	Name string
	// Group bounds all its jobs together, User those of each user, Account those of
	// each account, Job each job and Node each node of a job. Least is what a job
	// must have at least.
	Group, User, Account, Job, Node, Least []Amount
	Minutes                                Minutes
	// UserMinutes and AccountMinutes are Minutes.Group of each user and account.
	UserMinutes, AccountMinutes []Amount
	// OverPartition: what it sets goes before what the partition's QOS sets.
	OverPartition bool
	// AnyTime: its jobs may ask for more time than their partition's MaxTime (flag
	// PartitionTimeLimit). As the QOS of a partition it lifts nothing.
	AnyTime bool
}

// Partition is what a partition asks of its jobs.
type Partition struct {
	Name               string
	MinNodes, MaxNodes int           // of a job; 0 = any number
	MaxTime            time.Duration // 0 = no limit
	QOS                string        // whose limits hold for all its jobs; "" = none
	Tier               int           // PriorityTier: a job of several starts in the highest; jobs of a lower one may be preempted
	Up                 bool          // jobs are started
	Default            bool          // of jobs that name none
	// CPUsPerNode bounds what all jobs of the partition have on a node together, and
	// MemoryPerNode (megabytes) what a job has on each of its nodes; 0 = any number.
	CPUsPerNode, MemoryPerNode int
	// Weights are what jobs of it count for as billing (TRESBillingWeights); none = one for
	// each CPU.
	Weights []Weight
	// Who may use it; empty = everybody but those denied.
	AllowAccounts, DenyAccounts, AllowQOS, DenyQOS []string
}

// Weight is what one of a resource counts for as billing, of memory a megabyte; see
// slurm.conf(5), TRESBillingWeights.
type Weight struct {
	Of string // OfCPUs, OfNodes, OfMemory, OfGPUs or "gres/gpu:TYPE"
	N  float64
}

// BillingRule is how what a job has, weighted, comes to its billing, of which Slurm cuts off
// what is less than one.
type BillingRule int

const (
	BillSum            BillingRule = iota // of all
	BillLargest                           // the largest of all (PriorityFlags=MAX_TRES)
	BillLargestAndGRES                    // the largest of CPUs, memory and nodes, and all GRES (MAX_TRES_GRES)
)

// Reservation keeps nodes for some jobs for a time.
type Reservation struct {
	Name       string
	Start, End time.Time
	Nodes      []string
	Maint      bool // of maintenance (flag MAINT)
}
