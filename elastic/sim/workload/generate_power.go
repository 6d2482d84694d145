package workload

import (
	"fmt"
	"math"
	"strconv"

	"github.com/sluice-hpc/sluice/elastic"
)

// powerJobs makes jobs that are all there at the start and run n^p times as fast
// on n GPUs, p being the argument or 0.5. For these, and GPUs that can be divided
// at will, the shares that minimise the mean completion time have a closed form
// (heSRPT: Berg, Vesilo, Harchol-Balter, Performance Evaluation 144, 2020). Sizes
// are exponential with a mean of an hour on one GPU, 20 jobs unless told.
func powerJobs(r request) (Workload, error) {
	p := .5
	if r.arg != "" {
		given, err := strconv.ParseFloat(r.arg, 64)
		if err != nil || !(given > 0 && given < 1) {
			return Workload{}, fmt.Errorf("power %q: want a number between 0 and 1, both excluded", r.arg)
		}
		p = given
	}
	count := or(r.Jobs, 20)
	w := Workload{Name: r.name, Seed: r.seed, Count: count}
	w.Note = fmt.Sprintf("all jobs at the start, sizes exponential with a mean of 1 h on one GPU, on n GPUs n^%g times as fast", p)
	var speeds Speeds = Parametric{One: 60, Power: p}
	w.Jobs = func(yield func(Job) bool) {
		sizes := stream(r.seed, sizesStream)
		for i := range count {
			job := Job{Name: "job" + strconv.Itoa(i+1), User: users[i%len(users)], Asked: 1, Speeds: speeds}
			job.Spec = elastic.Spec{Min: 1, AllowUneven: true, Unit: elastic.Epochs, Model: "power"}
			job.Spec.Total = math.Max(1, 60*sizes.ExpFloat64())
			if !yield(job) {
				return
			}
		}
	}
	return w, nil
}
