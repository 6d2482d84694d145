package greedy

import (
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
)

// estimate sets how much work each job has left. A job whose speed is not known counts with the
// median of the others, or with 1 h on 1 GPU if no speed is known. Its unit of work is then a
// second on 1 GPU.
func (r *round) estimate() {
	var known []float64
	for i := range r.jobs {
		if alone := r.jobs[i].Measure(); alone > 0 {
			known = append(known, alone)
		}
	}
	r.typical = roles.MedianWork(known)
	for i := range r.jobs {
		// Without a sample the curve is relative: 1 on 1 GPU.
		if j := &r.jobs[i]; j.Curve.Samples() == 0 && !j.Finished() {
			j.Work = r.typical
		}
	}
}

// shape returns the shape that the job is expected to run in on n GPUs: the present one at its
// present size; on its own nodes if it shrinks; on as few nodes as possible if it grows. A size
// without a split, and one below the present size that its own nodes cannot hold, has no
// meaningful shape: callers leave such sizes out.
func (j *job) shape(n int) speed.Shape {
	s := speed.Shape{GPUs: n, Nodes: 1}
	switch {
	case n == j.Now && len(j.At) > 0:
		s.Nodes = len(j.At)
	case n < j.Now:
		s.Nodes = j.within(n)
	case j.pool.splits(n):
		s.Nodes = j.pool.spread[n]
	}
	return s
}

// within returns on how many of its own nodes, at least, the job can run with n GPUs; 0 if no
// split of n on them exists. A job that shrinks stays on its own nodes (plan.Arrange), so that
// this is the number of nodes after the move. With 2+2 GPUs now, 2 GPUs fit on 1 node, and 3 only
// unevenly on 2: 2 if the job accepts that, else 0. It is 0 for every n of a job without GPUs.
func (j *job) within(n int) int {
	for m := 1; m <= min(n, len(j.At)); m++ {
		roomy, sum := 0, 0
		for _, s := range j.At {
			sum += s.GPUs
			if s.GPUs*m >= n {
				roomy++
			}
		}
		if (n%m == 0 && roomy >= m) || (j.Spec.AllowUneven && m > 1 && sum >= n) {
			return m
		}
	}
	return 0
}

// seconds estimates the job's remaining time on n GPUs, in seconds. It is the expected time,
// without the bonus that untried sizes get elsewhere.
func (j *job) seconds(n int) float64 {
	s := j.shape(n)
	return j.rest(n, s.Nodes)
}

// rest is seconds on this many nodes.
func (j *job) rest(n, across int) float64 {
	s, _ := j.Curve.Seconds(speed.Shape{GPUs: n, Nodes: across})
	return s * j.Work
}

// cost is seconds plus the cost of the resize. A start has no resize cost. Two costs of one job
// are compared, never those of two jobs: the knapsack adds their differences.
func (j *job) cost(n int) float64 {
	if !j.HasGPUs() || n == j.Now {
		return j.seconds(n)
	}
	return j.seconds(n) + j.ResizeCost
}

// saves returns the seconds that a move from the present size to n saves, without its cost, and
// whether it is worth it.
func (j *job) saves(n int, payback float64) (saved float64, worth bool) {
	saved = j.seconds(j.Now) - j.seconds(n)
	return saved, j.pays(saved, payback)
}

// pays reports whether saving this many seconds is worth a voluntary move: more than its cost,
// and more than payback times its cost. payback is a factor; at 1 and below, the cost alone
// decides.
func (j *job) pays(saved, payback float64) bool {
	return saved > 0 && saved > j.ResizeCost && saved >= j.ResizeCost*payback
}
