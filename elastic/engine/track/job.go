package track

import (
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/eligible"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/slurm"
)

// Job is the engine's state of one job between cycles, by concern. A Job is made by adopt or from the
// journal, and belongs to its State. Only Rec is durable: all else is at its zero value after a
// restart of the daemon, which MUST harm no job.
type Job struct {
	Rec        journal.JobRecord
	Dirty      bool // Rec differs from the journal
	PendingTag bool // the job's comment does not have the directive, or the incarnation, of Rec yet
	Shown      shown
	Mail       mail
	Placing    placing
	rescue     rescue
	Runs       runs
	Learnt     learnt
	Tells      tells
	Over       over
	// Kept: Slurm refused to cancel it as a needless lane. It starts, and ends by itself.
	Kept bool
}

// shown is what Slurm shows of a job.
type shown struct {
	Slurm     slurm.Job
	Seen      bool        // Slurm showed it in this cycle
	Disown    bool        // its user removed the tag
	outside   bool        // its last run was ended, and the job requeued, by its user or by Slurm
	comment   string      // the last comment that could be parsed,
	commented elastic.Tag // and its content
	ignored   ignored
	doubt     doubt
	placed    time.Time // start of the run whose placement is recorded; zero = not asked since the daemon started
	placeless time.Time // when it was first seen running at an unknown placement; zero = known
	// splitAsked is when its GPUs per node were last queried; zero = not since the daemon started.
	splitAsked time.Time
	Begins     begins
}

// ignored is what its comment has and the record has not, and was logged.
type ignored struct {
	token bool // its comment had another token
	owner bool // its comment names another owner
}

// mail is what a job's runner and program reported, and whether its folder answers.
type mail struct {
	runner runnerWord
	begun  time.Time // FirstLine of the run that was logged last
	Exited exited
	Heard  time.Time // when its progress was last read; zero = not since the daemon started
	folder
	quiet     quiet     // the runner's last heartbeat
	freed     time.Time // the heartbeat after which a stale request was last withdrawn
	shortened shortened
	Kept      *checkpoint.Answer // the last verified checkpoint that was requested; nil = none since the daemon started
	answer    string             // the last checkpoint that it answered with or resumed from
	retracted bool               // the answers of its script and model were deleted because of it
}

// folder is whether a job's folder answers. Zero times = it does.
type folder struct {
	silent  time.Time // since when it has not answered
	unread  time.Time // the same, once it lasted unreadAfter and was logged
	doubted time.Time // when it last was not known which job this is, since a folder does not answer (Doubt)
}

// placing is the result of starting and moving a job, and what delays the next attempt.
type placing struct {
	blocked        elastic.Blocked // why it cannot start although it is held and GPUs are free
	Refused        elastic.Refused // what Slurm refused lately
	asked          eligible.Asked  // what the user asked of Slurm when it was refused
	holders        []slurm.JobID   // jobs that had the license or limit that it lacked
	Fell           int             // failed moves in a row after which it did not run
	Release        bool            // its user ordered the end of a hold that Slurm shows
	uncertainUntil time.Time       // until then Slurm may carry out a stop that timed out
	rest           time.Time       // not started again before; see delayUnexplained
	PassAsked      time.Time       // when Slurm was last asked for another scheduling pass for it
	saving         time.Time       // when it was last asked to save before its time limit
	took           time.Duration   // how long its last such save took; 0 = unknown
}

// rescue counts how often sluice requeued a job after a failure. None of it is durable. A daemon that
// restarts may requeue a job once more than the bounds say.
type rescue struct {
	revived int // the last failed run after which it was requeued, counted from 1
	// believed: it was requeued because its runner waited to be stopped; see stopUnrecorded.
	believed bool
	cleared  cleared
	struck   struck // how often its runner was killed
	// stranded: how often it was requeued because a node lost its processes.
	stranded stranded
	unusable unusable
	// restarts: the most restarts that Slurm has shown of it. If it shows fewer, slurmctld has
	// returned to an older state of its own.
	restarts int
}

// runs are a job's runs and the GPU-seconds they used. GPU-seconds are by Slurm's times and the
// daemon's clock, not by reports of the job. had counts only once counted is true.
type runs struct {
	Seg     *journal.Segment  // the present run, or the last; nil before the first
	past    []journal.Segment // earlier runs not yet in the journal
	segNew  bool              // Seg differs from the journal
	unread  bool              // a run began while the history could not be read: its row waits for it (join)
	had     float64           // GPU-seconds of the runs before Seg
	counted bool              // had is known
	course  course
}

// learnt is what is known of a job's speed from its runs.
type learnt struct {
	Gauged     gauged
	onUnfitGPU bool // it reports a GPU of its own as unfit, and the node is excluded
	Lazy       lazyCurve
	witness    witness        // checks the present run's reported speed against the clock
	fresh      []speed.Sample // speeds not yet in the store
	paces      []speed.Sample // step times not yet in the store
	stored     int            // value of Speeds.stores when they were stored last
	levelled   levelled       // of a job of a sweep, by its units of work
	paced      levelled       // the same by its steps; no curve is made from it
	unlearned  bool           // it has ended, and its samples are no longer in memory
}

// tells is what users are shown about a job.
type tells struct {
	Problem map[string]string // by source
	Said    elastic.JobReason // the reason from the last decision
	Last    reason.Reason     // how the last move closed
	parked  reason.Reason     // why it was parked; nil once it runs, or after a restart of the daemon
}

// over is what is known about the end of a job.
type over struct {
	Words   *checkpoint.LastWords // nil when it ended well
	exit    *checkpoint.Exit      // as its runner reported it; nil = unknown
	noticed time.Time             // when the end was noticed; zero = not since the daemon started
	of      int                   // the run that ended, counted from 1; 0 = not since the daemon started
	looked  time.Time             // when accounting was last asked about it; zero = not since the daemon started
}
