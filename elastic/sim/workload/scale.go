package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Scale returns the workload at a multiple of its load, over the same span of
// time: below 1 by leaving jobs out, above 1 by letting jobs come again, each at
// most once more often than any other. A job that comes again does so at about the
// time of another one, at most a mean gap later or earlier, so that the busy
// hours stay where they are; past the end it comes at the beginning. Which jobs
// and when is drawn from the workload's own seed, and said in Note; a deadline
// keeps its distance. Scale of 1 is the workload itself. The load must be above 0
// and give at least one job and at most MaxJobs.
func Scale(w Workload, load float64) (Workload, error) {
	count := math.Round(load * float64(w.Count))
	switch {
	case !(load > 0):
		return w, fmt.Errorf("load %v: want a number above 0, such as 0.5 or 2", load)
	case !(count >= 1 && count <= MaxJobs):
		return w, fmt.Errorf("load %v of %d jobs: want 1 to %d jobs in all", load, w.Count, MaxJobs)
	case load == 1:
		return w, nil
	}
	draw := rand.New(rand.NewPCG(w.Seed, math.Float64bits(load)))
	jobs := slices.Collect(w.Jobs)
	note := fmt.Sprintf("%gx the load: %d of %d jobs, drawn", load, int(count), len(jobs))
	if int(count) > len(jobs) {
		note = fmt.Sprintf("%gx the load: %d jobs added to %d, each one of them again at another's time",
			load, int(count)-len(jobs), len(jobs))
		jobs = again(jobs, int(count), draw)
	} else {
		jobs = some(jobs, int(count), draw)
	}
	if w.Note != "" {
		note = w.Note + "; " + note
	}
	out := recorded(fmt.Sprintf("%s-%gx", w.Name, load), note, jobs)
	out.Seed = w.Seed
	return out, nil
}

// some keeps count of the jobs, in order.
func some(jobs []Job, count int, draw *rand.Rand) []Job {
	kept := draw.Perm(len(jobs))[:count]
	slices.Sort(kept)
	out := make([]Job, count)
	for i, k := range kept {
		out[i] = jobs[k]
	}
	return out
}

// again adds jobs until there are count.
func again(jobs []Job, count int, draw *rand.Rand) []Job {
	n := len(jobs)
	first := jobs[0].Submit
	// The span ends a mean gap after the last submit.
	gap := float64(jobs[n-1].Submit-first) / float64(max(1, n-1))
	span := gap * float64(n)
	out := slices.Clone(jobs)
	for round := 1; len(out) < count; round++ {
		who, when := draw.Perm(n), draw.Perm(n)
		for i := 0; i < n && len(out) < count; i++ {
			j := jobs[who[i]]
			at := float64(jobs[when[i]].Submit-first) + (2*draw.Float64()-1)*gap
			if span > 0 {
				at = math.Mod(at+span, span)
			}
			out = append(out, j.at(first+time.Duration(at), round))
		}
	}
	return out
}

// at is the job when it comes again, for the round-th time.
func (j Job) at(submit time.Duration, round int) Job {
	if j.Deadline != 0 {
		j.Deadline += submit - j.Submit
	}
	j.Submit = submit
	j.Name = fmt.Sprintf("%s+%d", j.Name, round)
	return j
}
