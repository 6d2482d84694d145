package greedy

import (
	"math"

	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
)

// shrinkSlowed lets jobs give back GPUs that make them slower, if both speeds were measured. A
// predicted speed is not enough: the move costs time, and a wrong prediction would be followed by
// the move back. It runs BEFORE startWaiting, so that waiting jobs find these GPUs before any job
// shrinks for them.
func (r *round) shrinkSlowed() {
	for i := range r.jobs {
		j := &r.jobs[i]
		if r.base[i] != j.Now || !r.free(j) || !j.measured(j.Now) {
			continue
		}
		best, most := j.Now, 0.0
		for _, n := range j.sizes {
			if n >= j.Now {
				break
			}
			if saved, worth := j.saves(n, r.snap.Limits.Payback); worth && saved > most && j.within(n) > 0 && j.measured(n) {
				best, most = n, saved
			}
		}
		if best < j.Now {
			r.shrink(i, best)
		}
	}
}

// measured reports whether the job's speed on n GPUs is known from samples of that size. A sample
// on another number of nodes than the job would have (shape) does not count.
func (j *job) measured(n int) bool {
	_, src := j.Curve.Seconds(j.shape(n))
	return src == speed.Measured
}

// free reports whether the running job may make a voluntary move.
func (r *round) free(j *job) bool {
	return j.Role == roles.Movable && j.Pin == 0 && !r.snap.Resting(&j.Job)
}

// fastestBelow returns the remaining time at the best measured size below the present one;
// infinite if none was measured.
func (j *job) fastestBelow() float64 {
	least := math.Inf(1)
	for _, n := range j.sizes {
		if n < j.Now && j.within(n) > 0 && j.measured(n) {
			least = min(least, j.seconds(n))
		}
	}
	return least
}
