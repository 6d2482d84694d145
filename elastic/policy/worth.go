package policy

import (
	"math"
	"slices"

	"github.com/sluice-hpc/sluice/elastic/learn/length"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// What is assumed about a job when it is not known. Each is on the careful side:
// a wrong guess costs a move, not a job.
const (
	// leastWork is the least a job without a total is taken to need on one GPU.
	// Otherwise it is taken to be half done.
	leastWork = 600.0 // seconds
	// typicalWork is what a job of unknown speed is taken to need on one GPU
	// when no measured job is there to compare with.
	typicalWork = 3600.0 // seconds
)

// estimate fills in how much work each job has left.
func (r *round) estimate() {
	var known []float64
	for i := range r.jobs {
		if alone := r.jobs[i].measure(); alone > 0 {
			known = append(known, alone)
		}
	}
	r.typical = median(known)
	for i := range r.jobs {
		// Without a sample the curve is relative: 1 on one GPU.
		if j := &r.jobs[i]; j.Curve.Samples() == 0 && !j.finished() {
			j.work = r.typical
		}
	}
}

// measure fills in the work a job has left where its speed is known, and returns
// what that takes on one GPU, in seconds; 0 where it is not, or cannot be had.
func (j *job) measure() (alone float64) {
	if j.Curve.Samples() == 0 {
		return 0
	}
	one, _ := j.Curve.Seconds(speed.Shape{GPUs: 1, Nodes: 1})
	if left, ok := j.Remaining(); ok {
		j.work = left
	} else if j.Spec.Total <= 0 {
		j.work = max(j.Done, leastWork/one)
	} else if j.Overruns() {
		factor := max(1, j.Stretch.Factor)
		j.work = length.Beyond(factor*j.Spec.Total, factor*j.Reached, j.Attained, j.perGPU())
	}
	if math.IsInf(one, 0) {
		return 0
	}
	return j.work * one
}

// median is the lower median of what jobs need on one GPU; typicalWork of none.
func median(seconds []float64) float64 {
	if len(seconds) == 0 {
		return typicalWork
	}
	slices.Sort(seconds)
	return seconds[(len(seconds)-1)/2]
}

// finished reports whether the job has done all it said it would do.
func (j *job) finished() bool {
	_, more := j.Remaining()
	return j.Spec.Total > 0 && !more && !j.Overruns()
}

// perGPU is the GPU-seconds of a unit at the size the job has, or at its smallest.
func (j *job) perGPU() float64 {
	n := max(j.now, j.Spec.Min, 1)
	seconds, _ := j.Curve.Seconds(speed.Shape{GPUs: n, Nodes: max(1, len(j.at))})
	if math.IsInf(seconds, 0) {
		return 0
	}
	return seconds * float64(n)
}

// shape is what the job is expected to run in on n GPUs: as it is now; on nodes
// of its own when it shrinks; on as few as possible when it grows.
func (j *job) shape(n int) speed.Shape {
	s := speed.Shape{GPUs: n, Nodes: 1}
	switch {
	case n == j.now && len(j.at) > 0:
		s.Nodes = len(j.at)
	case n < j.now:
		s.Nodes = j.within(n)
	case j.pool.splits(n):
		s.Nodes = j.pool.spread[n]
	}
	return s
}

// within returns on how many of its own nodes, at least, the job can run on n
// GPUs; 0 when no split of n on them exists.
func (j *job) within(n int) int {
	for m := 1; m <= min(n, len(j.at)); m++ {
		roomy, sum := 0, 0
		for _, s := range j.at {
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

// seconds estimates how long the rest of the job takes on n GPUs.
func (j *job) seconds(n int) float64 {
	s := j.shape(n)
	return j.rest(n, s.Nodes)
}

// rest is seconds on so many nodes.
func (j *job) rest(n, across int) float64 {
	s, _ := j.Curve.Seconds(speed.Shape{GPUs: n, Nodes: across})
	return s * j.work
}

// cost is seconds with the price of getting there. Starting is not a move.
func (j *job) cost(n int) float64 {
	if !j.started() || n == j.now {
		return j.seconds(n)
	}
	return j.seconds(n) + j.price
}

// saves returns the time a move from the present size to n saves, without its
// price, and whether it is worth it.
func (j *job) saves(n int, payback float64) (saved float64, worth bool) {
	saved = j.seconds(j.now) - j.seconds(n)
	return saved, j.pays(saved, payback)
}

// pays reports whether so many seconds saved are worth a voluntary move: more
// than its price, and payback times as much.
func (j *job) pays(saved, payback float64) bool {
	return saved > 0 && saved > j.price && saved >= j.price*payback
}
