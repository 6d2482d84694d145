package control

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
)

// viewRank returns where a waiting job stands among all jobs that wait for GPUs alone; nil if it is none
// of them. The job before it is named to those who may see it.
func viewRank(r *publish.Report, jr publish.JobReport, sees func(publish.JobReport) bool) *wire.Rank {
	if !waits(jr) {
		return nil
	}
	var all []publish.JobReport // a report lists waiting jobs in the order in which they start
	for _, k := range r.Jobs {
		if waits(k) {
			all = append(all, k)
		}
	}
	at := slices.IndexFunc(all, func(k publish.JobReport) bool { return k.Record.ID == jr.Record.ID })
	out := &wire.Rank{Place: at + 1, Of: len(all), Priority: jr.Job.Priority, Age: jr.Job.Aged}
	if at > 0 {
		before := all[at-1]
		out.Before = &wire.Before{Priority: before.Job.Priority, Age: before.Job.Aged}
		if sees(before) {
			out.Before.JobID = int64(before.Record.ID)
		}
	}
	return out
}

// waits reports whether the job waits for GPUs alone. A job that is held has no priority; one that
// also waits for something else, such as a begin time or a dependency, delays no other.
func waits(jr publish.JobReport) bool {
	return !jr.Ended && jr.Job.Phase == elastic.Waiting && jr.Job.Priority > 0 && jr.Job.WaitsOutside() == nil
}
