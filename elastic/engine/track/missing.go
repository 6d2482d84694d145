package track

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

// MaxLookups bounds the queries for single jobs in a cycle: jobs that vanished, and the
// splits of runs over several nodes.
const MaxLookups = 16

// Missing returns the live jobs that the query for all jobs did not return. It MUST be called AFTER
// Match and before anything acts: a job is not over because one answer lacks it.
func (ro *Roster) Missing() (out []*Job) {
	for _, js := range ro.Ordered() {
		if !js.Shown.Seen && js.Rec.Ended.IsZero() {
			out = append(out, js)
		}
	}
	return out
}

// Spread picks MaxLookups of the jobs: at most half are jobs with an open move, for which a wrong
// answer costs most, and the rest are picked at equal distances.
func (open Moves) Spread(missing []*Job) []*Job {
	var picked []*Job
	for _, js := range missing {
		if slices.ContainsFunc(open, func(in elastic.Intent) bool { return in.Job == js.Rec.ID }) {
			picked = append(picked, js)
		}
	}
	picked = picked[:min(len(picked), MaxLookups/2)]
	rest := MaxLookups - len(picked)
	for i := range rest {
		picked = append(picked, missing[i*len(missing)/rest])
	}
	return picked
}

// ShownLate updates a job that the query for all jobs lacked and a query by number returned. Its
// comment is not matched again until the next cycle, except that its incarnation raises the record's
// (I1).
func (st *State) ShownLate(js *Job, sj slurm.Job, now time.Time) {
	if !elastic.Tagged(sj.Comment) {
		// Its user removed the tag meanwhile: sluice releases its hold.
		st.disowned(sj, now)
		return
	}
	js.Shown.Seen, js.Shown.Slurm = true, sj
	js.atLeast(sj.Comment)
}
