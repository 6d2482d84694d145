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

// Missing are the live jobs that the bulk answer lacks.
func (ro *Roster) Missing() (out []*Job) {
	for _, js := range ro.Ordered() {
		if !js.Shown.Seen && js.Rec.Ended.IsZero() {
			out = append(out, js)
		}
	}
	return out
}

// Spread picks MaxLookups of the jobs: those that are between two sizes first, for there a
// wrong answer costs most, then at equal distances.
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

// ShownLate takes up a job that the bulk answer lacked and a query for it shows.
func (st *State) ShownLate(js *Job, sj slurm.Job, now time.Time) {
	if !elastic.Tagged(sj.Comment) {
		// Its user took the tag away while it was not shown: let go of what sluice holds.
		st.disowned(sj, now)
		return
	}
	js.Shown.Seen, js.Shown.Slurm = true, sj
	js.atLeast(sj.Comment)
}
