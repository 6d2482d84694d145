package publish

import (
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// Report is what the last cycle observed and decided. It is not changed after it was published.
type Report struct {
	At       time.Time     // time of the cycle
	Took     time.Duration // wall time of the last cycle that is over; 0 before the first is
	Policy   string
	Blind    string        // why the last look at Slurm failed; "" when it did not
	BlindFor time.Duration // since the last complete observation
	Nodes    []nodes.Node
	Jobs     []JobReport // live jobs by submit, of these the waiting ones as they would start; then ended ones
	Demands  []elastic.Demand
	// Health has the complaints about nodes' GPUs, and which nodes are excluded.
	Health []elastic.Finding
	Next   time.Time // when the next cycle is due
	Shares Shares
}

// noJob is shared by the reports of all ended jobs. Most jobs of a report have ended, and an empty
// elastic.Job each would take two thirds of its memory. It MUST NOT be changed.
var noJob elastic.Job

// next returns room for one more job. It may contain the data of an old report, which is reused.
// The capacity of Jobs MUST suffice. The caller MUST set every field.
func (r *Report) next() *JobReport {
	r.Jobs = r.Jobs[:len(r.Jobs)+1]
	return &r.Jobs[len(r.Jobs)-1]
}

// JobReport is one job in a Report.
type JobReport struct {
	Record journal.JobRecord
	Job    *elastic.Job // as in the snapshot; all zero for an ended job, never nil
	Decided
	Intent *elastic.Intent // the open move, if any
	// Last is how the last move closed.
	Last reason.Reason
	// Problems are for the user: unreadable progress lines, a file system that hangs, an
	// unreadable comment.
	Problems []string
	// ETA is the expected end at the present size; zero = unknown.
	ETA time.Time
	Use
	// Run is the present run so far, or the last one; zero before the first.
	Run journal.Segment
	// Trial is of a sweep's lane; zero = none, or not known any more.
	Trial elastic.Trial
	// Kept is the last verified checkpoint that was requested; nil = none.
	Kept *checkpoint.Answer
	Over
}

// Decided is the last decision about a job.
type Decided struct {
	// Target is the planned placement; equal to Job.Place if the job stays.
	Target nodes.Placement
	Why    reason.Reason
	Policy string // of the job's partition
	// Promised: the job is admitted. Ends is its expected end by the last decision; zero =
	// unknown, or it has no deadline.
	Promised bool
	Ends     time.Time
	Due      elastic.Due
}

// Use is how a job uses its GPUs.
type Use struct {
	// Kind is the type of its GPUs, as in Slurm; "" while it has none.
	Kind string
	// Utilisation is the mean share of time with work on the job's GPUs in the last minutes,
	// from 0 to 1. It is valid if Gauged is true.
	Gauged      bool
	Utilisation float64
}

// Over is how a job ended.
type Over struct {
	Ended bool
	// Ending is how it ended; zero before.
	Ending journal.Ending
	// LastWords are the runner's explanation of a failure; nil = the job did not fail, or there
	// is none.
	LastWords *checkpoint.LastWords
}
