package elastic

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/learn/length"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// Phase is where Slurm has the job, reduced to what decisions depend on.
type Phase string

// The phases of a job.
const (
	Held       Phase = "held"       // pending, priority 0: waits for sluice or its user
	Queued     Phase = "queued"     // pending and released: Slurm will start it
	Running    Phase = "running"    // on its nodes
	Suspended  Phase = "suspended"  // stopped in place by somebody; left alone
	Completing Phase = "completing" // requeued or ended, last run not yet cleaned away
	Ended      Phase = "ended"      // terminal, or forgotten by Slurm
)

// Job is one sluice job as a cycle sees it.
type Job struct {
	ID        JobID
	Name      string
	User      string
	UID       uint32
	Partition string
	Spec      Spec
	Directive Directive
	// Incarnation is the one in the job's comment.
	Incarnation int

	Phase  Phase
	State  string // Slurm's own word, for people
	Reason string // Slurm's own reason, for people
	// HeldBefore: it was held in the look before this one, too.
	HeldBefore bool
	UserHold   bool // running with priority 0: its user asked Slurm to hold it
	// Eligible is when Slurm may start it at the earliest; zero = not known.
	Eligible time.Time
	// PassAsked is when sluice last asked Slurm for another scheduling pass for it; zero =
	// not in this life of the daemon.
	PassAsked time.Time
	Lingers   bool // pending, and Slurm still counts it on nodes of its last run
	Restarts  int  // Slurm's restart count

	// Place is where the job is: its true split while it runs, else empty.
	Place     nodes.Placement
	Submitted time.Time     // first submit, which a requeue does not change
	Begun     time.Time     // first seen running; zero before
	Started   time.Time     // of the present run
	TimeLeft  time.Duration // of the time limit; 0 = no limit or not running
	TimeLimit time.Duration // of each run; 0 = none
	Memory    Memory        // that it asks for other than by Spec.MemPerGPUMB
	// Billing is what Slurm counts the running job for, which is what its first run came
	// to (measured, 20.11 to 26.05); 0 = not known.
	Billing int

	// Speaks is set once the job's program has shown that it answers
	// checkpoint requests. Until then it keeps its size.
	Speaks bool
	// Unproven: no checkpoint was seen yet of this job, nor of an earlier one of the same
	// user and script or model. It starts at its minimum: until it is started Spec has no
	// other size, unless its user pinned it. Once it Speaks, the request of its first
	// move is the question whether it can come back.
	Unproven bool
	// Grown is what it accepts once it has shown a checkpoint, while Spec has its minimum
	// only; Grown.Min is 0 where Spec says it all.
	Grown Spec
	// Deaf counts the requests in a row that got no valid checkpoint.
	Deaf int
	Done float64 // units of work finished, fractional
	// Curve answers seconds a unit for every shape; nil when nothing is known.
	Curve *speed.Curve
	Price Price
	// Promised: the job was told that it will end by its deadline.
	Promised bool
	// Moved is when the job last changed size; zero when never.
	Moved time.Time
	// Asked is the size its user would take from plain Slurm, for policies that
	// never resize; 0 = the minimum (or the pin).
	Asked int
	// Attained is what the job has had so far, in GPU-seconds.
	Attained float64
	// Reached is Attained as it was when Done reached Spec.Total; 0 = it is not there.
	Reached float64
	// Stretch is what its user's earlier jobs took of what they had declared.
	Stretch Stretch
	// Rest is when a job may be started again whose last run vanished; zero = at once.
	Rest time.Time
	// Refused is what Slurm would not take of it lately.
	Refused Refused
	// Blocked is what keeps a held job from starting now, whatever GPUs are free.
	Blocked Blocked
	// Licenses are the names of those that it asks Slurm for.
	Licenses []string
	// Saved is what the job's side says about checkpoints.
	Saved Saved
	// Spoke says that a runner of the job has spoken, in this run or an earlier one.
	Spoke bool
	// Unread is since when its folder has not answered, once that is for long: what its
	// runner does is not known, and it cannot be told anything. Zero = it answers.
	Unread time.Time
	// Quiet is since when its runner has given no sign of life, by the daemon's clock, once
	// that is for long; zero = it does. RetryAt is when its script, which failed, is started
	// again; zero = it is not waited for.
	Quiet, RetryAt time.Time
	// Heartbeat is the runner's last sign of life in this run; zero when none.
	Heartbeat time.Time
	// Choosing: its runner has spoken in this run, and still looks for the checkpoint to start
	// from: Resumed is not known yet.
	Choosing bool
	// RunnerOf is the incarnation the runner of this run was told; 0 = unknown.
	RunnerOf int
	// Resumed names the checkpoint this run started from; "" = from zero.
	Resumed string
	// Rhythm is the longest the program of Spec.Habit took between two of its
	// checkpoints, as its runner saw it; 0 = not known yet.
	Rhythm time.Duration
	// SavesEvery is the time between two checkpoints that its runner asks for, and
	// SaveCost how long one blocks the program; 0 = none is made, not known.
	SavesEvery, SaveCost time.Duration
	// MIG: it runs on slices of GPUs. How many it has is fixed.
	MIG bool
	// MaxNodes is on how many nodes it may be, by the site's limits; 0 = on any number.
	MaxNodes int
	// Kept says which nodes reservations, its constraint and what it excludes keep from
	// it; nil = none.
	Kept reason.Reason
	// Ailing: its own runner calls a GPU it has unfit, on a node that gets nothing
	// new for it.
	Ailing bool
	// Departures are the nodes of Place that it should leave.
	Departures []Departure
}

// AsAsked is what the job was submitted with, whatever it may have for now.
func (j *Job) AsAsked() Spec {
	if j.Grown.Min > 0 {
		return j.Grown
	}
	return j.Spec
}

// Memory is what a job asks for of main memory, in megabytes; it takes what is more.
type Memory struct {
	PerNodeMB, PerCPUMB, PerGPUMB int64 // 0 = not asked for so, or not known
}

// Stretch is how many times its declared work a job is expected to take.
type Stretch struct {
	Factor float64 // above 1; 0 = it is taken at its word
	Jobs   int     // that it was learned from
}

// Remaining returns the units of work left, and false when the user gave no
// total or the job has passed it. Of a job of which more is expected than it declared,
// more is left.
func (j Job) Remaining() (float64, bool) {
	if j.Spec.Total <= 0 {
		return 0, false
	}
	done, total := j.Done, j.Spec.Total*max(1, j.Stretch.Factor)
	if j.Reached > 0 { // what it reports beyond its declared end may stand still
		done = max(done, j.Spec.Total*j.Attained/j.Reached)
	}
	return max(0, total-done), done < total
}

// Overruns reports whether the job trains on past the end that is expected of it.
func (j Job) Overruns() bool {
	return length.Past(max(1, j.Stretch.Factor)*j.Reached, j.Attained)
}

// GPUs returns the job's present size.
func (j Job) GPUs() int { return j.Place.GPUs() }

// Saved is the runner's answer to a request: the checkpoint it verified.
type Saved struct {
	Request    string // the request answered; "" when none
	Checkpoint string // name of the verified checkpoint; "" when it failed
	Error      string // why there is none, for people
	Committed  time.Time
}

// Price is what a move costs this job, measured on it where possible.
type Price struct {
	Save  time.Duration // request to commit
	Drain time.Duration // commit to pending
	Start time.Duration // pending to the script's first line
	Load  time.Duration // first line to the first new unit of work begun
	// Measured counts the moves the figures average over; 0 = site defaults.
	Measured int
}

// Total returns the whole dead time of a move.
func (p Price) Total() time.Duration { return p.Save + p.Drain + p.Start + p.Load }

// Demand is an ordinary Slurm job that waits for GPUs.
type Demand struct {
	ID        JobID
	Partition string
	Nodes     int    // at least 1
	GPUs      int    // in all, at least 1
	Type      string // of GPU that it asks for; "" = any
}

// Tenant is an ordinary Slurm job that has GPUs.
type Tenant struct {
	ID    JobID
	Place nodes.Placement // GPUs spread evenly: Slurm's list of jobs tells no split
	Ends  time.Time       // by its time limit; zero = it has none
	Type  string          // of GPU that it asked for; "" = any
}

// Want is what the job needs to start.
func (d Demand) Want() nodes.Want {
	return nodes.Want{Partition: d.Partition, Nodes: d.Nodes, GPUs: d.GPUs, Type: d.Type}
}

// Limits are the site's rules for moves.
type Limits struct {
	Cooldown time.Duration // least time between two voluntary moves of a job
	// Every is the usual time between two decisions; 0 = a minute. Plans ahead change
	// sizes at such moments.
	Every time.Duration
	// Payback is how many times over its price a voluntary move must repay.
	Payback float64
	Grace   time.Duration // for a checkpoint, when the job names none
	// MaxGrace is the longest that any job may have for one, whatever it names or its rhythm
	// says, but at least Grace; 0 = no bound.
	MaxGrace time.Duration
	Confirm  time.Duration // from release to running, before falling back
	// Moves is how many jobs may be in transition at once, shared among users; 0 = no bound.
	Moves int
	// DeafAfter is the number of unanswered requests after which a job keeps
	// its size.
	DeafAfter int
	// Preempt lets a policy stop started jobs below their minimum: they save, and
	// wait again. Off, a started job keeps its minimum.
	Preempt bool
	// Overload bounds Preempt: jobs are stopped only while the minimums of all jobs
	// add up to more than this share of the GPUs; 0 = whenever it helps.
	Overload float64
	// Wait is how long, under Preempt, a job is kept without GPUs at most, as far as
	// there are GPUs for all who waited as long; 0 = no bound.
	Wait time.Duration
	// Costs are what the policy welfare goes by; nil = nothing costs anything.
	Costs *Costs
	// ShareNodes lets two jobs that both run on several nodes share a node.
	ShareNodes bool
	// Placement is the rule of a simulated cluster; nil = GPUs are given as Slurm gives them.
	Placement PlacementRule
}

// Snapshot is everything a decision may depend on.
type Snapshot struct {
	Now time.Time
	// By is the name of the daemon that decides, for the requests of its moves; "" = none.
	By string
	// Before is when Slurm was looked at last before this look; zero = not yet.
	Before time.Time
	// Away is when Slurm last answered again after it had not for a while: it may have gone
	// back to an older state then. Zero = not in this life.
	Away time.Time
	// Began is when Slurm first answered this daemon; zero = unknown.
	Began time.Time
	// Nodes is the whole inventory with what all jobs use now.
	Nodes []nodes.Node
	// Jobs are sluice's jobs that have not ended, in order of first submit,
	// then id.
	Jobs    []Job
	Intents []Intent // open ones, at most one a job
	// Due are moves owed to jobs whatever a policy says: to be brought back, or to save
	// before a time limit ends them.
	Due     []Intent
	Demands []Demand // ordinary pending jobs that Slurm could start with more GPUs
	// Others counts, per node, the GPUs of jobs that are not sluice's, from the
	// very answer that showed sluice's; of a job over several nodes what it holds for
	// certain, and evenly as far as that was seen to be used in the look before.
	Others map[string]int
	// Tenants are those jobs one by one.
	Tenants []Tenant
	Limits  Limits
	// Edges are the partitions of jobs that are one node of an edge pool each: they exist in
	// a snapshot only.
	Edges map[string]bool
	// Caps are the site's limits on what jobs may have (Slurm's own, of partitions,
	// accounts, users and QOS).
	Caps []Cap
}

// At is the snapshot as it will be at a later time, if nothing else changes.
func (s Snapshot) At(now time.Time) Snapshot {
	passed := now.Sub(s.Now)
	if passed <= 0 {
		return s
	}
	s.Now, s.Jobs = now, slices.Clone(s.Jobs)
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.Phase != Running {
			continue
		}
		j.Attained += passed.Seconds() * float64(j.GPUs())
		if j.TimeLeft > 0 {
			j.TimeLeft = max(time.Second, j.TimeLeft-passed)
		}
	}
	return s
}

// Resting reports whether the job moved less than a cooldown ago.
func (s *Snapshot) Resting(j *Job) bool {
	return !j.Moved.IsZero() && s.Now.Sub(j.Moved) < s.Limits.Cooldown
}

// RestsUntil is when the job's cooldown ends; zero when it never moved.
func (s *Snapshot) RestsUntil(j *Job) time.Time {
	if j.Moved.IsZero() {
		return time.Time{}
	}
	return j.Moved.Add(s.Limits.Cooldown)
}

// Intent returns the open intent of the job.
func (s Snapshot) Intent(id JobID) (Intent, bool) {
	for _, in := range s.Intents {
		if in.Job == id {
			return in, true
		}
	}
	return Intent{}, false
}
