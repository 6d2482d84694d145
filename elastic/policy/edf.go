package policy

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// edf is the baseline of the next deadline first: in that order jobs get all the GPUs
// that make them faster. Jobs without a deadline come last.
func edf(s elastic.Snapshot) elastic.Allocation {
	return division{rule: nextDeadline, stops: true, because: func(_ *words, j *job) string {
		if j.Spec.Deadline.IsZero() {
			return "the next deadline first, and it has none"
		}
		return fmt.Sprintf("the next deadline first, and its own is %s", clock(j.Spec.Deadline))
	}}.allocate(s)
}

// nextDeadline is the rule of edf.
func nextDeadline(parts []part, gpus int) {
	order := make([]int, len(parts))
	for i := range parts {
		gpus -= parts[i].size()
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := parts[a].Spec.Deadline, parts[b].Spec.Deadline
		if x.IsZero() || y.IsZero() {
			return -cmp.Compare(age(x), age(y))
		}
		return x.Compare(y)
	})
	for _, i := range order {
		p := &parts[i]
		floor, best := p.size(), p.at
		for k := p.at + 1; k <= p.atMost(floor+gpus); k++ {
			if p.unit(k) < p.unit(best) {
				best = k
			}
		}
		p.at = max(p.at, best)
		gpus -= p.size() - floor
	}
}

// age orders those with a deadline before those without.
func age(t time.Time) int {
	if t.IsZero() {
		return 0
	}
	return 1
}
