package joint

import (
	"cmp"
	"math"
	"slices"
)

// Exact is a plan of the greatest value there is, by looking at all that could be. It
// is false when there is no plan. It takes time that multiplies with every job by the
// number of its places: it is for a few jobs on a few nodes, to measure others by.
func Exact(p *Problem) (Plan, bool) {
	e := exhaustive{s: NewSearch(p), best: Plan{Value: math.Inf(-1)}}
	e.s.clear()
	for i := range p.Jobs {
		e.order = append(e.order, i)
	}
	// The job that can be worth most comes first, so that what cannot become the best shows
	// soon; one that may share nodes with any comes last, for the others may not come to it.
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
type exhaustive struct {
	s     *Search
	order []int
	rest  []float64 // what the jobs from here on can be worth at most
	best  Plan
}

// most is the greatest value a job can have.
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

// from gives the jobs of the order from k on every place, those before having theirs.
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

// over gives a job an option on every list of nodes that begins as among does.
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
