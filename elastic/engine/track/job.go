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

// Job is what the engine knows about one job between cycles, by concern.
type Job struct {
	Rec        journal.JobRecord
	Dirty      bool // rec differs from the journal
	PendingTag bool // the comment still lacks the directive, or the incarnation, of rec
	Shown      shown
	Mail       mail
	Placing    placing
	rescue     rescue
	Runs       runs
	Learnt     learnt
	Tells      tells
	Over       over
}

// shown is what Slurm showed of a job.
type shown struct {
	Slurm     slurm.Job
	Seen      bool        // Slurm showed it in this cycle
	waited    bool        // held, in the look before
	Disown    bool        // its user took the tag away
	outside   bool        // its last run was ended, and the job requeued, by its user or by Slurm
	comment   string      // the last one that could be read,
	commented elastic.Tag // and what it says
	rewrote   bool        // its comment carried another token, and that was said
	placed    time.Time   // the start of the run whose place is on record; zero = not asked in this life
	placeless time.Time   // when it was first seen to run at an unknown place; zero = it is known
}

// mail is what a job's runner and program said, and whether its folder answers.
type mail struct {
	runner    runnerWord
	begun     time.Time // first line of the run that was last told of
	Exited    exited
	Heard     time.Time // when its progress was last read; zero = not in this life
	silent    time.Time // since when its folder has not answered; zero = it does
	unread    time.Time // the same, once that is for so long that it was told
	quiet     quiet     // when its runner last gave a sign of life
	freed     time.Time // the runner's sign of life upon which a request was withdrawn last
	shortened shortened
	Kept      *checkpoint.Answer // the last verified checkpoint that was asked for; nil = none in this life
	answer    string             // the last answer with a checkpoint, or the checkpoint it resumed from
	dumb      bool               // what its script and model had answered was taken back for it
}

// placing is what came of starting a job and of moving it, and what keeps it from the next try.
type placing struct {
	blocked   elastic.Blocked // what keeps it from starting, held, whatever GPUs are free
	Refused   elastic.Refused // what Slurm would not take of it lately
	asked     eligible.Asked  // of Slurm, when it was refused
	holders   []slurm.JobID   // jobs that had what Slurm would not start it for
	Fell      int             // moves in a row that came to nothing, and did not bring it to run
	Hold      bool            // the last hold through Slurm was sluice's own
	unheard   time.Time       // until then a stop or a hold that Slurm did not answer may be carried out
	rest      time.Time       // not started again before; see mourn
	PassAsked time.Time       // when Slurm was last asked for another scheduling pass for it
	saving    time.Time       // when it was last asked to save before its time limit
	took      time.Duration   // what its last such save took; 0 = unknown
}

// rescue is how often sluice itself brought a job back.
type rescue struct {
	revived int    // the last run that was brought back, counted from 1
	cleared int    // the last run that Slurm was made to forget, likewise
	struck  struck // how often its runner was killed
	// stranded is how often it was requeued for it, when last, and in which run, counted from 1.
	stranded struct {
		times int
		last  time.Time
		of    int
	}
}

// runs are a job's runs, and what they had of the cluster.
type runs struct {
	Seg     *journal.Segment  // of the present run, or the last; nil before the first
	past    []journal.Segment // earlier ones not yet in the journal
	segNew  bool              // seg differs from the journal
	had     float64           // GPU-seconds of the runs before seg
	counted bool              // had is known
	course  course
}

// learnt is what a job's runs taught of its speed.
type learnt struct {
	Gauged    gauged
	ailing    bool // a GPU it has is unfit by its own word, and keeps its node out
	Lazy      lazyCurve
	witness   witness        // what its present run says of its speed against the clock
	fresh     []speed.Sample // not yet in the store
	paces     []speed.Sample // likewise, seconds a step
	stored    int            // Speeds.stores when they were stored last
	unlearned bool           // it has ended, and what was learnt from it is in the store alone
}

// tells is what people are told of a job.
type tells struct {
	Problem map[string]string // by source
	Said    elastic.JobReason // what the last decision says of it
	Last    reason.Reason     // how the last move closed
	parked  reason.Reason     // why it was stopped to wait again; nil once it runs, or in a later life
}

// over is what is known of the end of a job that has ended.
type over struct {
	Words   *checkpoint.LastWords // nil when it ended well
	exit    *checkpoint.Exit      // as its runner saw it; nil when that is not known
	noticed time.Time             // when it was noticed that it had ended; zero = not in this life
	looked  time.Time             // when accounting was asked last how it ended; likewise
}
