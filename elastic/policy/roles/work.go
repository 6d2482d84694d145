package roles

import (
	"math"
	"slices"

	"github.com/sluice-hpc/sluice/elastic/learn/length"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// Assumptions about a job where nothing is known. Each is conservative: a wrong one costs a
// resize, not a job.
const (
	// leastWork is the least work that a job without a declared total is assumed to need on 1
	// GPU. Otherwise it is assumed to be half done.
	leastWork = 600.0 // seconds
	// typicalWork is what a job of unknown speed is assumed to need on 1 GPU if there is no
	// measured job to compare with.
	typicalWork = 3600.0 // seconds
)

// Measure sets the job's remaining work if its speed is known, and returns its time on 1 GPU,
// in seconds; 0 if it is not known, or if the job cannot run.
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

// MedianWork returns the lower median of what jobs need on 1 GPU, in seconds; typicalWork
// without jobs.
// It sorts seconds in place.
func MedianWork(seconds []float64) float64 {
	if len(seconds) == 0 {
		return typicalWork
	}
	slices.Sort(seconds)
	return seconds[(len(seconds)-1)/2]
}

// Finished reports whether the job has done all its declared work.
// A job that declares no total is never finished, nor is one that trains on past its expected end.
func (j *Subject) Finished() bool {
	_, more := j.Remaining()
	return j.Spec.Total > 0 && !more && !j.Overruns()
}

// perGPU returns the GPU-seconds per unit at the job's present size, or at its smallest.
func (j *Subject) perGPU() float64 {
	n := max(j.Now, j.Spec.Min, 1)
	seconds, _ := j.Curve.Seconds(speed.Shape{GPUs: n, Nodes: max(1, len(j.At))})
	if math.IsInf(seconds, 0) {
		return 0
	}
	return seconds * float64(n)
}

// Assumed reports whether the job's speed is an assumption, without any sample.
func (j *Subject) Assumed() bool { return j.Curve.Samples() == 0 }
