package roles

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

// Measure fills in the work a job has left where its speed is known, and returns
// what that takes on one GPU, in seconds; 0 where it is not, or cannot be had.
func (j *Subject) Measure() (alone float64) {
	if j.Curve.Samples() == 0 {
		return 0
	}
	one, _ := j.Curve.Seconds(speed.Shape{GPUs: 1, Nodes: 1})
	if left, ok := j.Remaining(); ok {
		j.Work = left
	} else if j.Spec.Total <= 0 {
		j.Work = max(j.Done, leastWork/one)
	} else if j.Overruns() {
		factor := max(1, j.Stretch.Factor)
		j.Work = length.Beyond(factor*j.Spec.Total, factor*j.Reached, j.Attained, j.perGPU())
	}
	if math.IsInf(one, 0) {
		return 0
	}
	return j.Work * one
}

// MedianWork is the lower median of what jobs need on one GPU; typicalWork of none.
func MedianWork(seconds []float64) float64 {
	if len(seconds) == 0 {
		return typicalWork
	}
	slices.Sort(seconds)
	return seconds[(len(seconds)-1)/2]
}

// Finished reports whether the job has done all it said it would do.
func (j *Subject) Finished() bool {
	_, more := j.Remaining()
	return j.Spec.Total > 0 && !more && !j.Overruns()
}

// perGPU is the GPU-seconds of a unit at the size the job has, or at its smallest.
func (j *Subject) perGPU() float64 {
	n := max(j.Now, j.Spec.Min, 1)
	seconds, _ := j.Curve.Seconds(speed.Shape{GPUs: n, Nodes: max(1, len(j.At))})
	if math.IsInf(seconds, 0) {
		return 0
	}
	return seconds * float64(n)
}

// Assumed reports whether what is said of the job's speed is an assumption.
func (j *Subject) Assumed() bool { return j.Curve.Samples() == 0 }
