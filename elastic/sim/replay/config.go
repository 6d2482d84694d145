package replay

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/share"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
	"github.com/sluice-hpc/sluice/nodes"
)

// Info is the information that a policy has.
type Info string

// The kinds of information.
const (
	Oracle  Info = "oracle"  // true speeds of every split, true remaining work
	Learned Info = "learned" // samples as they come, the user's total, no true speeds
)

// Placing is the algorithm that finds nodes for the sizes that a policy chose.
type Placing string

// The ways of placing.
const (
	// Ours is plan.Arrange, as in the daemon.
	Ours Placing = "sluice"
	// Published is what published simulators do: jobs that keep their size stay,
	// the others, small ones first, take the freest nodes one after the other.
	Published Placing = "published"
)

// Config is one simulation.
type Config struct {
	Nodes  []nodes.Node // all free and usable
	Policy policy.Policy
	// Beside, when set, starts the jobs that are not sluice's, as Slurm's own scheduler does.
	// It is called before each decision and returns what it starts now and the snapshot that
	// is left to the policy.
	Beside func(elastic.Snapshot) (started elastic.Allocation, rest elastic.Snapshot)
	// Shares, when set, are the shares of the accounts of all jobs. Every decision is made within
	// them, with what each user had more or less than it deserved; that decays by HalfLife
	// (0 = share.DefaultHalfLife). Ordinary jobs have none.
	Shares   *share.Tree
	HalfLife time.Duration
	// Interval is the time between two decisions.
	Interval time.Duration
	// Restart is what a start and every resize cost in time on the new GPUs.
	Restart time.Duration
	// RestartOf, when set, goes before Restart: a price for each job, asked for once
	// as the job comes, in the order of the workload.
	RestartOf func(workload.Job) time.Duration
	// RestartOn, when set, goes before Restart too: a price by the number of GPUs a job
	// starts on, or is resized to. The policy knows the price of its largest size.
	RestartOn func(gpus int) time.Duration
	// Faster, when set, is how many times as fast as the workload says a job of a model is on
	// GPUs of a type, above 0; on several types it is as fast as on the slowest of them.
	Faster func(model, kind string) float64
	Info   Info
	// Noise is the relative scatter of the samples under Learned: each is the true
	// time times a lognormal factor, the standard deviation of whose logarithm this
	// is, drawn with Seed. 0 = every sample is the true time.
	Noise   float64
	Placing Placing
	Limits  elastic.Limits
	// Seed draws what the simulation draws; the workload has its own.
	Seed uint64
	// Timer reads a clock for the decision times; nil = they are not measured.
	Timer func() time.Duration
	// Events receives what happens, in order; nil drops it.
	Events func(Event)
	// Progress, when set, is called now and then with the jobs ended so far.
	Progress func(ended int)
}

// Event is one thing that happened.
type Event struct {
	At       time.Duration // after the start
	Job      int           // index in the workload
	Lane     int           // of a sweep, from 1; 0 = it is a job
	Name     string
	Kind     string // submit, start, resize, move, stop, end
	From, To nodes.Placement
	Why      reason.Reason
	Moment   time.Time // At, as the decision had it
}
