package track

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/eligible"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/learn"
	"github.com/sluice-hpc/sluice/slurm"
)

// Rules are what the site configured, as far as it decides what is made of an observation.
type Rules struct {
	Limits elastic.Limits
	// Health bounds what runners' words about unfit GPUs can do; zero = nothing.
	Health elastic.HealthRules
	// Price is assumed for a job whose moves were not measured yet.
	Price elastic.Price
	// Period is the time between two cycles in peace, Transition while a job is
	// between two sizes, Backoff the longest time while Slurm does not answer.
	Period, Transition, Backoff time.Duration
	// ShareSpeeds lets the jobs of different users that name one model learn from each
	// other; else every user's jobs learn from that user's alone.
	ShareSpeeds bool
	// Listen believes a runner that says its run is over, and looks at Slurm at once: where
	// no epilog of slurmctld's tells.
	Listen bool
	// Proven takes every job for one that answers requests, as simulated programs do: it
	// may start above its minimum.
	Proven bool
	// Mine tells which jobs are looked after; nil = every tagged one.
	Mine func(slurm.Job) bool
	// Edge names the partitions that are edge pools.
	Edge map[string]bool
	// By is this daemon's name, which its requests carry: up to 32 letters and digits, and no
	// other daemon's; "" = none.
	By string
}

// State is all that is known between two looks. Its methods fold observations into it and
// answer from it; they read nothing and change nothing outside of it.
type State struct {
	Rules Rules
	Roster
	Open Moves
	Speeds
	Users
	Cluster
	Moments
	accounts accounts
	Last     elastic.Snapshot // what the last cycle decided by
	strange  strange
	event.Log
}

// Roster are the jobs that are known.
type Roster struct {
	Jobs  map[string]*Job // by token
	ByID  Known
	order []*Job // see Ordered; nil = not known
}

// Speeds is what was learnt of the speeds of jobs.
type Speeds struct {
	Learnt  *learn.Memory
	units   map[string]elastic.Unit // by token: what programs of jobs submitted without a unit report in
	renamed bool                    // a job is of another model than it was
	stores  int                     // how often speeds were stored
}

// Users is what users' jobs have shown, for their later ones.
type Users struct {
	Answers map[journal.AnswerKey]time.Time
	Unsaved map[journal.AnswerKey]time.Time // of answers, what the journal does not have; zero = forgotten
	Lengths histories
}

// Cluster is what is known of nodes and of the site.
type Cluster struct {
	Seen       seen
	Site       eligible.Site
	Health     elastic.Health
	Kept       elastic.Health // as the journal has it
	Lost       lostNodes
	ground     *eligible.Ground // what the refusals there are were judged by; nil = there are none
	HasLimiter bool             // the site's limits can be asked for
}

// seen is the last look.
type seen struct {
	Jobs   []slurm.Job
	Nodes  []slurm.Node
	Old    bool    // the nodes were used a second time, or may have changed since
	around *around // what samples ask of both; nil = not asked for yet
}

// Moments are times that later looks are judged by.
type Moments struct {
	away  time.Time // when Slurm last answered again after it had not for a while
	Began time.Time // when Slurm first answered in this life; zero = not yet
	ahead time.Time // the latest time that the clock has shown
}

// strange is why tagged jobs are left alone, in the last look and in this.
type strange struct {
	before, now map[slurm.JobID]string
}

// New returns a state in which nothing is known yet.
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
