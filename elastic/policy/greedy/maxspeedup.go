package greedy

import (
	"math"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/solve/knapsack"
)

// MaxSpeedup maximizes the sum of the jobs' speed-ups over their smallest size, by dynamic
// programming (Saxena et al., Effective Elastic Scaling of Deep Learning Workloads, MASCOTS
// 2020, section 4, the autoscaler of FfDL). It ignores the jobs' remaining work, and stops no
// job.
func MaxSpeedup(s elastic.Snapshot) elastic.Allocation {
	return division{rule: greatestSpeedup, because: always(reason.MaxSpeedupRule)}.allocate(s)
}

// greatestSpeedup is the rule of maxspeedup. The value of an option is the speed-up minus 1,
// because a job that takes none has the speed-up 1.
func greatestSpeedup(parts []part, gpus int) {
	classes := make([][]knapsack.Option, len(parts))
	steps := make([][]int, len(parts)) // sizes of the options, as indices
	for i := range parts {
		p := &parts[i]
		gpus -= p.size()
		floor, best := p.at, 1.0
		for k := floor + 1; k < len(p.sizes); k++ {
			// A size that is not faster than a smaller one is never chosen.
			if up := ratio(p.unit(floor), p.unit(k)); up > best && !math.IsInf(up, 1) {
				best = up
				classes[i] = append(classes[i], knapsack.Option{Weight: p.sizes[k] - p.sizes[floor], Value: up - 1})
				steps[i] = append(steps[i], k)
			}
		}
	}
	var solver knapsack.Solver
	choice, _ := solver.Expand(classes, gpus)
	for i, o := range choice {
		if o != knapsack.None {
			parts[i].at = steps[i][o]
		}
	}
}
