package deadline_test

import (
	"fmt"
	"math"

	"github.com/sluice-hpc/sluice/elastic/solve/deadline"
)

// Four jobs and 4 GPUs. The first three have a deadline in 1,000 s, but there is no room for
// the third; the last one has none. A job does 1 unit of work per second on each GPU.
func ExampleDecide() {
	job := func(work, due float64) deadline.Job {
		return deadline.Job{Sizes: []int{1, 2, 4}, Rate: []float64{1, 2, 4}, Work: work, Due: due}
	}
	jobs := []deadline.Job{job(900, 1000), job(1500, 1000), job(3000, 1000), job(5000, math.Inf(1))}
	plan := deadline.Decide(jobs, 4, 0, 60)
	for i, gpus := range plan.GPUs {
		fmt.Printf("job %d: %d GPUs, admitted: %t\n", i, gpus, plan.Promised[i])
	}
	fmt.Printf("job 2 could end after %.0f s\n", plan.Soonest[2])
	// Output:
	// job 0: 2 GPUs, admitted: true
	// job 1: 2 GPUs, admitted: true
	// job 2: 0 GPUs, admitted: false
	// job 3: 0 GPUs, admitted: false
	// job 2 could end after 1410 s
}
