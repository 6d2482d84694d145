package track

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/learn/length"
	"github.com/sluice-hpc/sluice/slurm"
)

// histories has, by user, how much of their declared work ended jobs took.
type histories map[uint32]length.History

// Note adds an ended job to its user's history. It MUST be called once for each ended job. One
// without figures in its Ending changes nothing.
func (h histories) Note(r journal.JobRecord) {
	ended := length.Ended{Script: r.Tag.Spec.Script, At: r.Ended, Declared: r.Ending.Declared, Had: r.Ending.Had}
	if with := h[r.Owner.UID].With(ended); len(with) > 0 {
		h[r.Owner.UID] = with
	}
}

// noteLength records how many GPU-seconds an ended job used, and how many at its declared total.
// A job that was stopped before its total is not counted.
//
//	reached its declared total     what it took up to there, and in all
//	completed before it            the same for both: the declaration did no harm
//	failed or cancelled before it  nothing
//	a job of a sweep               nothing: it may run several trials
func (js *Job) noteLength(now time.Time) {
	had, spec := js.Runs.attained(now), js.Rec.Tag.Spec
	switch {
	case spec.Total <= 0 || spec.Sweep != "" || had <= 0 || !js.Runs.counted:
	case js.Runs.course.first > 0:
		js.Rec.Ending.Declared, js.Rec.Ending.Had = min(had, js.Runs.course.first), had
	case js.Shown.Slurm.State == slurm.Completed:
		js.Rec.Ending.Declared, js.Rec.Ending.Had = had, had
	}
}

// stretchOf returns the expected ratio of the job's actual work to its declared work.
func (h histories) stretchOf(r journal.JobRecord, now time.Time) (out elastic.Stretch) {
	if r.Tag.Spec.Total > 0 {
		out.Factor, out.Jobs = h[r.Owner.UID].Factor(r.Tag.Spec.Script, now)
	}
	return out
}
