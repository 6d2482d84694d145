package track

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/eligible"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/learn"
	"github.com/sluice-hpc/sluice/elastic/share"
	"github.com/sluice-hpc/sluice/slurm"
)

// Rules is the part of the site's configuration that determines how observations are interpreted.
type Rules struct {
	Limits elastic.Limits
	// Health bounds the effect of runners' reports about unfit GPUs; zero = no effect.
	Health elastic.HealthRules
	// Price is assumed for a job whose moves were not measured yet.
	Price elastic.Price
	// Period is the time between two cycles while nothing moves, Transition while a move is
	// open, Backoff the longest time while Slurm does not answer.
	Period, Transition, Backoff time.Duration
	// ShareSpeeds shares the speeds of a model among all users; otherwise among the jobs of
	// one user.
	ShareSpeeds bool
	// Listen queries Slurm at once when a runner reports that its run is over. It is for sites
	// whose slurmctld epilog does not notify sluiced.
	Listen bool
	// Proven treats every job as one that answers requests, so that it may start above its
	// minimum. Simulations set it.
	Proven bool
	// Mine reports which jobs are managed; nil = every tagged job.
	Mine func(slurm.Job) bool
	Parts
	// By is this daemon's name in its requests, unique among daemons: up to 32 letters and
	// digits; "" = none.
	By string
}

// Parts is what the site says of single partitions, QOS and accounts, by name.
type Parts struct {
	Edge map[string]bool      // the partitions that are edge pools
	QOS  map[string]share.QOS // rules where GPUs are divided by shares
	Own  *share.Own           // the site's own tree of shares; nil = Slurm's counts
	// Confined is the name of the service account, whose jobs belong to the users that their tags
	// name; "" = there is none.
	Confined string
	// Sweeps returns what is known of the sweeps, by token; nil = nothing.
	Sweeps func() map[string]elastic.Sweep
	// Needless returns the lanes that waited when their sweep was over, by token, each with the number of its sweep; nil = none.
	Needless func() map[string]elastic.JobID
	// Trials returns the trials that lanes run, by the token of the lane; nil = nothing.
	Trials func() map[string]elastic.Trial
}

// State is all that is known between two cycles. Its methods do no I/O and change nothing outside
// of it. It is not durable by itself: what MUST survive is in the journal through UnsavedX, and the
// rest can be lost (I6).
type State struct {
	Rules Rules
	Roster
	Open Moves
	Speeds
	Users
	Cluster
	Moments
	accounts  accounts
	confined  confined
	Last      elastic.Snapshot // the snapshot of the last decision
	unmanaged unmanaged
	event.Log
}

// Roster has the known jobs.
type Roster struct {
	Jobs  map[string]*Job // by token
	ByID  Known
	order []*Job // see Ordered; nil = to be sorted
}

// Speeds is what was learned of the speeds of jobs.
type Speeds struct {
	Learnt  *learn.Memory
	units   map[string]elastic.Unit // by token: the unit reported by jobs that were submitted without one
	renamed bool                    // a job's model was changed
	stores  int                     // how often speeds were stored
}

// Users is what is known from users' earlier jobs.
type Users struct {
	Answers map[journal.AnswerKey]time.Time
	Unsaved map[journal.AnswerKey]time.Time // answers that the journal lacks; zero = to be deleted
	Lengths histories
}

// Cluster is what is known of nodes and of the site's limits.
type Cluster struct {
	Seen         seen
	Site         eligible.Site
	Shares       Shares
	Health       elastic.Health
	Kept         elastic.Health // Health as it is in the journal
	Lost         lostNodes
	refusedUnder *eligible.Ground // the configuration at the time of the current refusals; nil = there are none
	HasLimiter   bool             // the site's limits can be queried
}

// seen is the last observation.
type seen struct {
	Jobs       []slurm.Job
	Nodes      []slurm.Node
	Old        bool        // the nodes were reused, or may have changed since
	neighbours *neighbours // index of both for samples; nil = not built yet
}

// Moments are times that later cycles need.
type Moments struct {
	away   time.Time // when Slurm last answered again after an outage
	outage bool      // Slurm has not answered since the last look, or its answer came late
	Began  time.Time // when Slurm first answered since the daemon started; zero = not yet
	ahead  time.Time // the latest time that the clock has shown
}

// unmanaged has the reasons why tagged jobs are not managed, in the last cycle and in this one.
type unmanaged struct {
	before, now map[slurm.JobID]string
	failed      unrecorded // failed jobs without a record
}

// New returns an empty state. events MUST NOT be nil and MUST NOT block. The caller sets HasLimiter,
// Shares.Own and Shares.Rigid BEFORE the first cycle, and reads the journal into the State
// (watch.Load).
func New(rules Rules, samples learn.Store, events func(event.Event)) *State {
	return &State{
		Rules:   rules,
		Roster:  Roster{Jobs: map[string]*Job{}, ByID: Known{}},
		Speeds:  Speeds{Learnt: learn.New(samples), units: map[string]elastic.Unit{}},
		Users:   Users{Answers: map[journal.AnswerKey]time.Time{}, Unsaved: map[journal.AnswerKey]time.Time{}, Lengths: histories{}},
		Cluster: Cluster{Lost: lostNodes{}},
		Log:     event.Log{Sink: events},
	}
}
