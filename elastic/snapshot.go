package elastic

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/learn/length"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// Phase is the job's state in Slurm, reduced to what decisions depend on.
type Phase string

// The phases of a job.
const (
	Waiting    Phase = "waiting"    // pending, and not started before sluice or its user lets it
	Queued     Phase = "queued"     // pending, and its begin time has come: Slurm will start it
	Running    Phase = "running"    // on its nodes
	Suspended  Phase = "suspended"  // stopped in place by a user or administrator; sluice leaves it alone
	Completing Phase = "completing" // requeued or ended, its last run not cleaned up yet
	Ended      Phase = "ended"      // terminal, or forgotten by Slurm
)

// Job is one sluice job as a cycle observes it.
type Job struct {
	ID        JobID
	Name      string
	User      string // of its Owner, as UID is
	UID       uint32
	Account   string // Slurm's account; "" = none, or not known
	QOS       string // Slurm's; "" = none
	Scavenger bool   // its QOS may have only GPUs that no other job wants
	Partition string
	Spec      Spec
	Directive Directive
	// Incarnation is the number in the job's comment.
	Incarnation int

	Phase  Phase
	State  string // Slurm's state, for people
	Reason string // Slurm's reason, for people
	// UserHold: it has priority 0, because its user or an administrator asked Slurm to hold it.
	UserHold bool
	// Eligible is the earliest time at which Slurm may start it; zero = not known.
	Eligible time.Time
	// PassAsked is when sluice last asked Slurm for a scheduling pass for it; zero = not since
	// the daemon started.
	PassAsked time.Time
	// Priority is by what Slurm would start waiting jobs first, the highest; 0 = not known, or held.
	// Aged is the part of it for its age, which Slurm adds from its begin time on.
	Priority, Aged int64
	Lingers        bool // pending, and Slurm still counts it on nodes of its last run
	Uncleared      bool // Lingers, and was cleared in vain a moment ago
	Restarts       int  // Slurm's restart count

	// Place is the job's nodes and GPUs: its true split while it runs, else empty.
	Place     nodes.Placement
	Submitted time.Time     // first submission, which a requeue does not change
	Begun     time.Time     // first observed running; zero before
	Started   time.Time     // start of the present run
	TimeLeft  time.Duration // what is left of the time limit; 0 = no limit, or not running
	TimeLimit time.Duration // time limit of each run; 0 = none
	Memory    Memory        // memory that it requests other than by Spec.MemPerGPUMB
	// Billing is Slurm's billing of the running job, which stays that of its first run
	// (measured, 20.11 to 26.05); 0 = not known.
	Billing int

	// Speaks is set once the job's program has answered a checkpoint request. Until then the
	// job keeps its size.
	Speaks bool
	// Unproven: no checkpoint was seen yet, neither of this job nor of an earlier one of the
	// same user and script or model. It starts at its minimum: until it is started Spec has no
	// other size, unless its user pinned it. Once it Speaks, the request of its first move
	// shows whether it can resume.
	Unproven bool
	// Grown is the spec that it has once it has completed a checkpoint, while Spec has only its
	// minimum; Grown.Min is 0 if Spec is complete.
	Grown Spec
	// Deaf counts the requests in a row without a valid checkpoint.
	Deaf int
	// Unusable counts the checkpoints in a row that were verified on request and that the next run
	// passed over as invalid.
	Unusable int
	Done     float64 // units of work finished, may be fractional
	// Curve gives the seconds per unit for every shape; nil if nothing is known.
	Curve *speed.Curve
	Price Price
	// Promised: the job was admitted, that is, told that it will end by its deadline.
	Promised bool
	// Moved is when the job last changed size; zero = never.
	Moved time.Time
	// Asked is the size that its user requests for policies that never resize; 0 = the minimum
	// (or the pin).
	Asked int
	// Attained is the service that the job has had so far, in GPU-seconds.
	Attained float64
	// Reached is Attained at the time when Done reached Spec.Total; 0 = it has not.
	Reached float64
	// Stretch is by how much its user's earlier jobs exceeded their declared work.
	Stretch Stretch
	// Rest is when a job whose last run vanished may be started again; zero = at once.
	Rest time.Time
	// Refused is what Slurm refused for it lately.
	Refused Refused
	// Blocked is what keeps a held job from starting now, however many GPUs are free.
	Blocked Blocked
	// Licenses are the names of the licenses that it requests from Slurm.
	Licenses []string
	// Saved is the runner's last answer to a checkpoint request.
	Saved Saved
	// Spoke says that a runner of the job has reported, in this run or an earlier one.
	Spoke bool
	// Unread is since when its folder has not answered, if that is long: what its runner does
	// is not known, and it cannot be sent anything. Zero = it answers.
	Unread time.Time
	// Quiet is since when its runner has not reported, by the daemon's clock, if that is long;
	// zero = it does. RetryAt is when its failed script is started again; zero = it is not
	// going to be.
	Quiet, RetryAt time.Time
	// Heartbeat is the runner's last report in this run; zero if there is none.
	Heartbeat time.Time
	// Choosing: its runner has reported in this run, and is still looking for the checkpoint to
	// start from: Resumed is not known yet.
	Choosing bool
	// RunnerOf is the incarnation that the runner of this run was given; 0 = unknown.
	RunnerOf int
	// Resumed is the checkpoint that this run started from; "" = from the beginning.
	Resumed string
	// Rhythm is the longest interval between two checkpoints of the program of Spec.Habit that
	// its runner has seen; 0 = not known yet.
	Rhythm time.Duration
	// SavesEvery is the interval between two checkpoints that its runner asks for, and SaveCost
	// how long one blocks the program; 0 = none is made, or not known.
	SavesEvery, SaveCost time.Duration
	// MIG: it runs on MIG slices of GPUs. Their number is fixed.
	MIG bool
	// MaxNodes is the most nodes that it may be on by the site's limits; 0 = no limit.
	MaxNodes int
	// Kept says which nodes are unavailable to it because of reservations, its constraint or
	// its own exclusions; nil = none.
	Kept reason.Reason
	// OnUnfitGPU: its own runner reports one of its GPUs as unfit, on a node that is excluded for
	// new jobs.
	OnUnfitGPU bool
	// Departures are the nodes of Place that it has to leave.
	Departures []Departure
}

// AsAsked returns the spec that the job was submitted with, whatever it may have for now.
func (j *Job) AsAsked() Spec {
	if j.Grown.Min > 0 {
		return j.Grown
	}
	return j.Spec
}

// Memory is the main memory that a job requests, in megabytes; the largest result of the three
// counts.
type Memory struct {
	PerNodeMB, PerCPUMB, PerGPUMB int64 // 0 = not requested in this way, or not known
}

// Stretch is the factor by which a job is expected to exceed its declared work.
type Stretch struct {
	Factor float64 // above 1; 0 = the declared work is used
	Jobs   int     // number of jobs that it was learned from
}

// Remaining returns the units of work left, and false if the user declared no total or the job
// has passed it. If the job is expected to exceed its declared work, more is left accordingly.
func (j Job) Remaining() (float64, bool) {
	if j.Spec.Total <= 0 {
		return 0, false
	}
	done, total := j.Done, j.Spec.Total*max(1, j.Stretch.Factor)
	if j.Reached > 0 { // what it reports beyond its declared end may not increase
		done = max(done, j.Spec.Total*j.Attained/j.Reached)
	}
	return max(0, total-done), done < total
}

// Overruns reports whether the job trains on past its expected end.
func (j Job) Overruns() bool {
	return length.Past(max(1, j.Stretch.Factor)*j.Reached, j.Attained)
}

// unusableMost is the number of unusable checkpoints in a row from which on a job keeps its size. One may
// be an accident, such as a file that was deleted.
const unusableMost = 2

// LosesCheckpoints reports whether stopping the job would most likely lose work again: its checkpoints
// are valid when they are requested, and not at the next start.
func (j *Job) LosesCheckpoints() bool { return j.Unusable >= unusableMost }

// GPUs returns the job's present size.
func (j Job) GPUs() int { return j.Place.GPUs() }

// Saved is the runner's answer to a checkpoint request: the checkpoint it verified.
type Saved struct {
	Request    string // id of the answered request; "" if none
	Checkpoint string // name of the verified checkpoint; "" if saving failed
	Error      string // why there is none, for people
	Committed  time.Time
}

// Price is the cost of a resize for this job, measured on it where possible.
type Price struct {
	Save  time.Duration // from request to commit
	Drain time.Duration // from commit to pending
	Start time.Duration // from pending to the script's first line
	Load  time.Duration // from the first line to the first new unit of work
	// Measured is the number of moves that the times are averaged over; 0 = site defaults.
	Measured int
}

// Total returns the whole dead time of a move.
func (p Price) Total() time.Duration { return p.Save + p.Drain + p.Start + p.Load }

// Demand is an ordinary Slurm job that waits for GPUs, or one of sluice's that Slurm is to start in its
// own order.
type Demand struct {
	ID        JobID
	Priority  int64 // Slurm's; 0 = not known
	Partition string
	Nodes     int    // at least 1
	GPUs      int    // in all, at least 1
	Type      string // GPU type that it requests; "" = any
}

// Tenant is an ordinary Slurm job that has GPUs.
type Tenant struct {
	ID    JobID
	Place nodes.Placement // GPUs spread evenly: Slurm's list of jobs shows no split
	Ends  time.Time       // by its time limit; zero = it has none
	Type  string          // GPU type that it requested; "" = any
}

// Want returns what the job needs to start.
func (d Demand) Want() nodes.Want {
	return nodes.Want{Partition: d.Partition, Nodes: d.Nodes, GPUs: d.GPUs, Type: d.Type}
}

// Limits are the site's rules for moves.
type Limits struct {
	Cooldown time.Duration // least time between two voluntary moves of a job
	// Every is the usual time between two decisions; 0 = 1 min. Plans ahead change sizes at
	// these times.
	Every time.Duration
	// Payback is how many times its cost a voluntary move has to save.
	Payback float64
	Grace   time.Duration // time for a checkpoint, if the job names none
	// MaxGrace is the longest time that any job may have for a checkpoint, whatever it names or
	// its rhythm is, but at least Grace; 0 = no bound.
	MaxGrace time.Duration
	Confirm  time.Duration // from release to running, before falling back
	// Abandon is how far ahead the begin time of a waiting job is kept: if sluiced is gone for
	// so long, Slurm starts the job by itself; 0 = 2 h.
	Abandon time.Duration
	// Moves is how many jobs may be between two sizes at once, shared among users; 0 = no
	// bound.
	Moves int
	// DeafAfter is the number of unanswered requests after which a job keeps
	// its size.
	DeafAfter int
	// Preempt lets a policy stop started jobs below their minimum: they save, and wait again.
	// Without it a started job keeps its minimum.
	Preempt bool
	// Overload bounds Preempt: jobs are stopped only while the minimums of all jobs add up to
	// more than this share of the GPUs; 0 = whenever it helps.
	Overload float64
	// Wait is the longest time that a job is kept without GPUs under Preempt, as far as there
	// are GPUs for all that have waited so long; 0 = no bound.
	Wait time.Duration
	// Costs are the inputs of the policy welfare; nil = nothing has a cost.
	Costs *Costs
	// ShareNodes lets two jobs that both run on several nodes share a node.
	ShareNodes bool
	// Placement is the placement rule of a simulated cluster; nil = Slurm's.
	Placement PlacementRule
}

// Snapshot is everything that a decision may depend on. It MUST NOT be changed after it was
// passed to a policy: stages copy what they change.
type Snapshot struct {
	Now time.Time
	// By is the name of the daemon that decides, for the ids of its requests; "" = none.
	By string
	// Before is the time of the observation before this one; zero = there was none.
	Before time.Time
	// Away is when Slurm last answered again after an interruption: it may have restored an
	// older state then. Zero = not since the daemon started.
	Away time.Time
	// Began is when Slurm first answered this daemon; zero = not known.
	Began time.Time
	// Nodes is the whole inventory with what all jobs use now.
	Nodes []nodes.Node
	// Jobs are sluice's jobs that have not ended, in order of first submission, then id; those
	// that wait to start are among each other in the order of their priority in Slurm.
	// Policies depend on this ORDER: waiting jobs start in it.
	Jobs    []Job
	Intents []Intent // open intents, at most one per job
	// Due are moves that jobs need whatever a policy decides: to be brought back, or to save
	// before a time limit ends them.
	Due     []Intent
	Demands []Demand // pending jobs that Slurm could start with more GPUs, the highest priority first
	// Others counts, per node, the GPUs of jobs that are not sluice's, from the same answer of
	// Slurm that showed sluice's. For a job on several nodes it counts what the job holds for
	// certain, and an even share as far as the previous observation showed it in use.
	Others map[string]int
	// Tenants are those other jobs one by one.
	Tenants []Tenant
	Limits  Limits
	// Sweeps are the sweeps that have lanes, by token; nil = nothing is known of them.
	Sweeps map[string]Sweep
	// Edges are the virtual partitions that are one node of an edge pool each: they exist in a
	// snapshot only.
	Edges map[string]bool
	// Caps are the site's limits on what jobs may have (Slurm's own, of partitions, accounts,
	// users and QOS), and the shares of accounts and users.
	Caps []Cap
}

// At returns the snapshot as it will be at a later time if nothing else changes.
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

// Resting reports whether the job moved less than Limits.Cooldown ago.
func (s *Snapshot) Resting(j *Job) bool {
	return !j.Moved.IsZero() && s.Now.Sub(j.Moved) < s.Limits.Cooldown
}

// RestsUntil returns when the job's cooldown ends; zero if it never moved.
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
