package policy

import (
	"math"

	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// relieve lets jobs give back GPUs that make them slower, where both speeds were
// measured.
func (r *round) relieve() {
	for i := range r.jobs {
		j := &r.jobs[i]
		if r.base[i] != j.now || !r.free(j) || !j.measured(j.now) {
			continue
		}
		best, most := j.now, 0.0
		for _, n := range j.sizes {
			if n >= j.now {
				break
			}
			if saved, worth := j.saves(n, r.snap.Limits.Payback); worth && saved > most && j.within(n) > 0 && j.measured(n) {
				best, most = n, saved
			}
		}
		if best < j.now {
			r.shrink(i, best)
		}
	}
}

// measured reports whether the job's speed on n GPUs rests on samples of it.
func (j *job) measured(n int) bool {
	_, src := j.Curve.Seconds(j.shape(n))
	return src == speed.Measured
}

// free reports whether a voluntary move of a running job is open to it.
func (r *round) free(j *job) bool {
	return j.role == movable && j.pin == 0 && !r.snap.Resting(&j.Job)
}

// fastestBelow returns how long the rest takes at the best size below the present
// one that was measured; infinite when none was.
func (j *job) fastestBelow() float64 {
	least := math.Inf(1)
	for _, n := range j.sizes {
		if n < j.now && j.within(n) > 0 && j.measured(n) {
			least = min(least, j.seconds(n))
		}
	}
	return least
}
