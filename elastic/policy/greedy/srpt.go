package greedy

import (
	"cmp"
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// SRPT is the baseline shortest remaining time first: jobs, ordered by their remaining time at
// the size that their user requested, get that size, or what is left of it above their minimum.
func SRPT(s elastic.Snapshot) elastic.Allocation {
	return division{rule: shortestRest, stops: true, because: restAsAsked}.allocate(s)
}

// restAsAsked returns the remaining time by which srpt orders the job.
func restAsAsked(_ *reasons, j *job) reason.Reason {
	return reason.ShortestRest{Seconds: j.Work * j.packed(j.asked()), GPUs: j.asked(), Assumed: j.Assumed()}
}

// shortestRest is the rule of srpt. A job for which less than its smallest size is left stays
// where it starts, with no GPUs if it may be stopped, and the next one may get what is left.
func shortestRest(parts []part, gpus int) {
	order, rest := make([]int, len(parts)), make([]float64, len(parts))
	for i := range parts {
		gpus -= parts[i].size()
		order[i], rest[i] = i, parts[i].Work*parts[i].packed(parts[i].asked())
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rest[a], rest[b]) })
	for _, i := range order {
		p := &parts[i]
		floor := p.size()
		p.at = max(p.at, p.atMost(min(p.asked(), floor+gpus)))
		gpus -= p.size() - floor
	}
}
