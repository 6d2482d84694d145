package publish

import (
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// Report is what the last cycle saw and decided, published whole for readers.
// It is never changed after it was published.
type Report struct {
	At       time.Time     // when the cycle looked
	Took     time.Duration // wall time of the cycle
	Policy   string
	Blind    string        // why the last look at Slurm failed; "" when it did not
	BlindFor time.Duration // how long there has been no good look
	Nodes    []nodes.Node
	Jobs     []JobReport // live ones first in order of submit, then ended ones Slurm or the journal remembers
	Demands  []elastic.Demand
	// Health is what is said against nodes' GPUs, and what follows from it.
	Health []elastic.Finding
	Next   time.Time // when the next cycle is due
}

// noJob stands in the report of an ended job: those of a day are most of a report, and two
// thirds of one would be an empty elastic.Job. Nobody writes to it.
var noJob elastic.Job

// next is room for one more job. What an older report, which no reader has, left there serves
// again.
func (r *Report) next() *JobReport {
	r.Jobs = r.Jobs[:len(r.Jobs)+1]
	return &r.Jobs[len(r.Jobs)-1]
}

// JobReport is one job in a Report.
type JobReport struct {
	Record journal.JobRecord
	Job    *elastic.Job // as it was decided about; all zero for an ended job, never nil
	Decided
	Intent *elastic.Intent // the open move, if any
	// Last is how the last move closed.
	Last reason.Reason
	// Problems are things a person should know: unreadable progress lines, a
	// heartbeat that stopped, a refused comment.
	Problems []string
	// ETA is the expected end at the present size; zero when unknown.
	ETA time.Time
	Use
	// Run is the present run as far as it has come, or the last one; zero before the first.
	Run journal.Segment
	// Kept is the last verified checkpoint that was asked for; nil = none was.
	Kept *checkpoint.Answer
	Over
}

// Decided is what the last decision says of a job.
type Decided struct {
	// Target is where the plan wants the job; equal to Job.Place when it stays.
	Target nodes.Placement
	Why    reason.Reason // why this size, why now
	Policy string        // of the job's partition
	// Promised: the last decision says that the job ends by its deadline; Ends is when,
	// as far as can be seen; zero = not in sight, or it has none.
	Promised bool
	Ends     time.Time
	Due      elastic.Due
}

// Use is what a job makes of its GPUs.
type Use struct {
	// Kind is the type of the GPUs it is on, as Slurm writes it; "" while it has none.
	Kind string
	// Utilisation is the mean share of time with work on the job's GPUs in the last
	// minutes, from 0 to 1; only where they are Gauged.
	Gauged      bool
	Utilisation float64
}

// Over is how a job ended.
type Over struct {
	Ended bool
	// Ending is how it ended; zero while it lives.
	Ending journal.Ending
	// LastWords are why an ended job did not end well; nil when it did, or when
	// that is not known.
	LastWords *checkpoint.LastWords
}
