package joint

import "math"

// Bounds for the use of ceiling: with at most this many jobs, and values that add up to at most
// this, sums are exact to within a tenth of the smallest gain that Improve keeps.
const (
	ceilingJobs  = 32
	ceilingValue = 16.0
)

// ceiling returns an upper bound of the value of all plans: the best choice of sizes that
// together take no more GPUs than there are, wherever these are. It is +Inf if it was not
// computed.
//
// It is a multiple-choice knapsack by dynamic programming, in O(sizes of all jobs x GPUs), computed
// once a search. Improve ends when its plan reaches it.
func (s *Search) ceiling() float64 {
	if !math.IsNaN(s.most.all) {
		return s.most.all
	}
	s.most.all = math.Inf(1)
	all, most := 0, 0.0
	for i := range s.p.Nodes {
		all += s.p.Nodes[i].Free
	}
	for _, v := range s.most.each {
		most += math.Abs(v)
	}
	if len(s.p.Jobs) > ceilingJobs || most > ceilingValue {
		return s.most.all
	}
	best, next := make([]float64, all+1), make([]float64, all+1) // for the jobs so far, by GPUs
	for i := range s.p.Jobs {
		s.p.Jobs[i].widen(next, best)
		best, next = next, best
	}
	s.most.all = best[all]
	return best[all]
}

// widen adds a job to the best values by GPUs.
// best is not changed. For a job that must have GPUs, fewer than its smallest size are worth -Inf.
func (j *Job) widen(next, best []float64) {
	if copy(next, best); j.Must {
		for n := range next {
			next[n] = math.Inf(-1)
		}
	}
	if now := held(j.Now); now > 0 {
		raise(next, best, now, j.Stay)
	}
	for k := range j.Sizes {
		raise(next, best, j.Sizes[k].GPUs, j.Sizes[k].Options[0].Value)
	}
}

// raise uses a size of the job, at its value, where that is more.
func raise(next, best []float64, size int, value float64) {
	if size >= len(next) {
		return
	}
	to := next[size:]
	for n, v := range best[:len(to)] {
		if v += value; v > to[n] {
			to[n] = v
		}
	}
}
