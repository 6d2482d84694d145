package greedy

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// EDF is the baseline earliest deadline first: in that order jobs get all the GPUs that make
// them faster. Jobs without a deadline come last.
func EDF(s elastic.Snapshot) elastic.Allocation {
	return division{rule: nextDeadline, stops: true, because: func(_ *reasons, j *job) reason.Reason {
		return reason.NextDeadline{Deadline: j.Spec.Deadline}
	}}.allocate(s)
}

// nextDeadline is the rule of edf. It is greedy: a job takes the fastest size within what is left,
// the smallest of equally fast ones, even where fewer GPUs would meet its deadline.
func nextDeadline(parts []part, gpus int) {
	order := make([]int, len(parts))
	for i := range parts {
		gpus -= parts[i].size()
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := parts[a].Spec.Deadline, parts[b].Spec.Deadline
		switch {
		case x.IsZero() == y.IsZero():
			return x.Compare(y)
		case x.IsZero():
			return 1
		}
		return -1
	})
	for _, i := range order {
		p := &parts[i]
		floor, best := p.size(), p.at
		for k := p.at + 1; k <= p.atMost(floor+gpus); k++ {
			if p.unit(k) < p.unit(best) {
				best = k
			}
		}
		p.at = best
		gpus -= p.size() - floor
	}
}
