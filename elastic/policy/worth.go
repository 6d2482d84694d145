package policy

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic/speed"
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
		j := &r.jobs[i]
		if j.Curve.Samples() == 0 {
			continue
		}
		one, _ := j.Curve.Seconds(speed.Shape{GPUs: 1, Nodes: 1})
		if left, ok := j.Remaining(); ok {
			j.work = left
		} else if j.Spec.Total <= 0 {
			j.work = max(j.Done, leastWork/one)
		}
		if j.work > 0 {
			known = append(known, j.work*one)
		}
	}
	r.typical = typicalWork
	if len(known) > 0 {
		slices.Sort(known)
		r.typical = known[len(known)/2]
	}
	for i := range r.jobs {
		// Without a sample the curve is relative: 1 on one GPU.
		if j := &r.jobs[i]; j.Curve.Samples() == 0 && !j.finished() {
			j.work = r.typical
		}
	}
}

// finished reports whether the job has done all it said it would do.
func (j *job) finished() bool { return j.Spec.Total > 0 && j.Done >= j.Spec.Total }

// seconds estimates how long the rest of the job takes on n GPUs.
func (j *job) seconds(n int) float64 {
	shape := speed.Shape{GPUs: n, Nodes: 1}
	switch {
	case n == j.now && len(j.at) > 0:
		shape.Nodes = len(j.at)
	case j.pool.splits(n):
		shape.Nodes = j.pool.spread[n]
	}
	s, _ := j.Curve.Seconds(shape)
	return s * j.work
}

// cost is seconds with the price of getting there. Starting is not a move.
func (j *job) cost(n int) float64 {
	if !j.started() || n == j.now {
		return j.seconds(n)
	}
	return j.seconds(n) + j.price
}

// saves returns the time a move from the present size to n saves, and whether
// that is worth it: more than its price, and payback times over.
func (j *job) saves(n int, payback float64) (saved float64, worth bool) {
	saved = j.seconds(j.now) - j.seconds(n)
	return saved, saved > 0 && saved > j.price && saved >= j.price*payback
}
