package joint

import (
	"cmp"
	"math"
	"slices"
)

// Exact returns a plan of the largest possible value, by enumeration. It returns false if there
// is no plan. Its time is the product of the numbers of places of all jobs: it is meant for a
// few jobs on a few nodes, to evaluate other searches.
// It tries each option's own split only, also of a loose option.
func Exact(p *Problem) (Plan, bool) {
	e := exhaustive{s: NewSearch(p), best: Plan{Value: math.Inf(-1)}}
	e.s.clear()
	for i := range p.Jobs {
		e.order = append(e.order, i)
	}
	// The job with the largest possible value comes first, so that branches that cannot be best
	// are cut early. A job that may share nodes with any comes last, because the others may not
	// join it.
	slices.SortStableFunc(e.order, func(a, b int) int {
		if x, y := &p.Jobs[a], &p.Jobs[b]; x.Mixes == y.Mixes {
			return cmp.Compare(y.most(), x.most())
		} else if y.Mixes {
			return -1
		}
		return 1
	})
	e.rest = make([]float64, len(p.Jobs)+1)
	for k := len(p.Jobs) - 1; k >= 0; k-- {
		e.rest[k] = e.rest[k+1] + p.Jobs[e.order[k]].most()
	}
	e.from(0, 0)
	return e.best, !math.IsInf(e.best.Value, 0)
}

// exhaustive is a search depth first.
// order and rest belong together: rest[k] bounds the jobs order[k:], and rest has one entry more.
type exhaustive struct {
	s     *Search
	order []int
	rest  []float64 // the largest value that the jobs from here on can have
	best  Plan
}

// most returns the largest value that a job can have.
func (j *Job) most() float64 {
	most := math.Inf(-1)
	if !j.Must {
		most = 0
	}
	if len(j.Now) > 0 {
		most = max(most, j.Stay)
	}
	for _, s := range j.Sizes {
		for _, o := range s.Options {
			most = max(most, o.Value)
		}
	}
	return most
}

// from gives the jobs of the order from k on every place, while the jobs before have theirs.
// A branch ends where even the largest values of the jobs that are left would not beat the best
// plan. Whether a plan is reachable is checked only when all jobs are placed.
func (e *exhaustive) from(k int, value float64) {
	if value+e.rest[k] <= e.best.Value {
		return
	}
	if k == len(e.order) {
		if e.s.reachable() {
			e.best = Plan{Places: slices.Clone(e.s.places), Value: value}
		}
		return
	}
	i := e.order[k]
	j := &e.s.p.Jobs[i]
	if len(j.Now) > 0 && e.s.f.fits(j, j.Now) {
		e.s.put(i, spot{j.Now, j.Stay, true})
		e.from(k+1, value+j.Stay)
		e.s.off(i)
	}
	for _, size := range j.Sizes {
		for _, o := range size.Options {
			e.over(k, value, &o, nil)
		}
	}
	if !j.Must {
		e.from(k+1, value)
	}
}

// over gives a job an option on every list of nodes that begins with among.
func (e *exhaustive) over(k int, value float64, o *Option, among []int) {
	if len(among) < len(o.Split) {
		for n := range e.s.p.Nodes {
			if !slices.Contains(among, n) {
				e.over(k, value, o, append(slices.Clip(among), n))
			}
		}
		return
	}
	i := e.order[k]
	j := &e.s.p.Jobs[i]
	e.s.among = among
	for _, group := range j.groups(o) {
		if place, _ := e.s.fitIn(j, group, o.Split); place != nil && !sameShares(place, j.Now) {
			e.s.put(i, spot{place: place, value: o.Value})
			e.s.among = nil
			e.from(k+1, value+o.Value)
			e.s.among = among
			e.s.off(i)
		}
	}
	e.s.among = nil
}
