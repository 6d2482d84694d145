package joint

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// Search searches for plans of one problem. It is not safe for concurrent use; the plans it
// returns stay valid.
// Between calls it is at one plan: places, value and f always describe the same plan, except after
// CanReach.
type Search struct {
	p      *Problem
	f      *floor
	places [][]Share
	value  []float64 // of each job at its place; 0 without one
	nodes  []int32   // workspace of fit
	among  []int     // the only nodes to consider; nil = all
	shares []Share   // memory of places
	change Change    // the one under construction
	dear   [][]int32 // by job: its sizes, by index, the largest value first
	most   struct {
		each []float64 // the largest value that each job could have
		all  float64   // see ceiling; NaN = not computed yet
	}
	r road
}

// NewSearch prepares a search.
// It computes what is the same for all plans, and sorts the sizes of each job once, so one search
// SHOULD serve all sizes and orders of a problem.
func NewSearch(p *Problem) *Search {
	s := &Search{p: p, f: newFloor(p), places: make([][]Share, len(p.Jobs)), value: make([]float64, len(p.Jobs))}
	s.dear, s.most.each, s.most.all = make([][]int32, len(p.Jobs)), make([]float64, len(p.Jobs)), math.NaN()
	for i := range p.Jobs {
		s.dear[i], s.most.each[i] = p.Jobs[i].dearest(), p.Jobs[i].most()
	}
	return s
}

// dearest lists the job's sizes by index, the largest value first, smaller ones first among
// equals.
func (j *Job) dearest() []int32 {
	out := make([]int32, len(j.Sizes))
	for k := range out {
		out[k] = int32(k)
	}
	slices.SortStableFunc(out, func(a, b int32) int { return cmp.Compare(j.Sizes[b].Options[0].Value, j.Sizes[a].Options[0].Value) })
	return out
}

// reset puts every job at its present place; one that changes size only if its GPUs do not
// become free for others at the same moment.
// The three ways to begin: Build resets, Improve and Anneal resume, Exact clears.
func (s *Search) reset(sizes []int) {
	s.clear()
	for i := range s.p.Jobs {
		// Open moves may be bound to GPUs that another job still has; then not every job can
		// stay, and those that cannot are placed anew.
		if j := &s.p.Jobs[i]; len(j.Now) > 0 && (!s.p.AtOnce || held(j.Now) == sizes[i]) && s.f.left(j, j.Now) {
			s.put(i, spot{j.Now, j.Stay, true})
		}
	}
}

// clear takes every job off the nodes.
func (s *Search) clear() {
	s.f.reset(s.p)
	clear(s.places)
	clear(s.value)
}

// keepShares puts a split on the nodes just found, which are listed by size of share, in memory
// that is used for nothing else.
func (s *Search) keepShares(split []int) []Share {
	place := s.room(len(split))
	for i, size := range split {
		k := &s.f.next[size]
		place[i] = Share{int(s.nodes[*k]), size}
		*k++
	}
	return place
}

// room returns memory for n shares that is used for nothing else.
// It comes in blocks that grow up to 4096 shares, so that many plans make few allocations.
func (s *Search) room(n int) []Share {
	if cap(s.shares)-len(s.shares) < n {
		s.shares = make([]Share, 0, max(64, min(2*cap(s.shares), 4096), n))
	}
	from := len(s.shares)
	s.shares = s.shares[:from+n]
	return s.shares[from : from+n : from+n]
}

// drop forgets the places kept since; their memory is used again.
// since is s.shares as it was. No place kept after it may be in use, in s.places or in a plan.
func (s *Search) drop(since []Share) {
	if cap(s.shares) == 0 {
		return
	}
	if cap(since) > 0 && &since[:1][0] == &s.shares[:1][0] {
		s.shares = since
		return
	}
	s.shares = s.shares[:0] // a block of memory begun since
}

// put gives a job that is off the nodes a place that MUST fit.
func (s *Search) put(i int, at spot) {
	j := &s.p.Jobs[i]
	s.f.take(j, at.place)
	s.places[i], s.value[i] = at.place, at.value
}

// off takes a job off the nodes; of one that has none it changes nothing.
func (s *Search) off(i int) {
	if s.places[i] != nil {
		s.f.give(&s.p.Jobs[i], s.places[i])
		s.places[i], s.value[i] = nil, 0
	}
}

// Build goes from where each job is to the given sizes, one job after the other: first those
// that give GPUs back, then those that must start, then the others, each group in the given
// order. A job takes GPUs that are free at its turn, at its size or, if there is no place, at
// the largest accepted size below it that has one. So the plan can be carried out in this
// order, and no jobs wait for each other in a circle. It returns the sum of values (Plan
// returns the places), and false if a job that must have a place finds none.
//
// sizes has one size for each job, 0 for no GPUs; order is a permutation of the jobs. If it returns
// false the search is at no plan that can be used, and the next Build begins anew.
func (s *Search) Build(sizes, order []int) (value float64, ok bool) {
	s.reset(sizes)
	for turn := range 3 {
		for _, i := range order {
			if s.turn(i, sizes[i]) == turn {
				s.move(i, sizes[i])
			}
		}
	}
	ok = s.rescue() && s.reachable()
	return s.sum(), ok
}

// Distinct returns those of the orders for which Build makes different plans: an order that
// moves the same jobs in the same order as an earlier one is left out. If few jobs change size
// most orders are left out.
// At most one of the orders is returned if at most one job moves. No plan is made for this: it
// costs the length of the orders.
func (s *Search) Distinct(sizes []int, orders [][]int) [][]int {
	moving := 0
	for i, size := range sizes {
		if s.turn(i, size) >= 0 {
			moving++
		}
	}
	if moving <= 1 {
		return orders[:min(1, len(orders))]
	}
	var out, had [][]int
	for _, order := range orders {
		moved := make([]int, 0, moving)
		for turn := range 3 {
			for _, i := range order {
				if s.turn(i, sizes[i]) == turn {
					moved = append(moved, i)
				}
			}
		}
		if !slices.ContainsFunc(had, func(m []int) bool { return slices.Equal(m, moved) }) {
			had, out = append(had, moved), append(out, order)
		}
	}
	return out
}

// turn returns when a job is moved; -1 if it stays.
// The cases: 0 = gives GPUs back, or all move at once; 1 = MUST start; 2 = starts or grows.
func (s *Search) turn(i, size int) int {
	j := &s.p.Jobs[i]
	switch now := held(j.Now); {
	case now == size && now > 0, size == 0 && now == 0 && !j.Must:
		return -1
	case s.p.AtOnce:
		return 0
	case size < now:
		return 0
	case j.Must && now == 0:
		return 1
	}
	return 2
}

// move places a job anew, or leaves it where it was.
func (s *Search) move(i, size int) {
	was, value := s.places[i], s.value[i]
	s.off(i)
	if size == 0 && !s.p.Jobs[i].Must || s.settle(i, size) {
		return
	}
	s.back(i, was, value)
}

// back undoes the last off of a job.
func (s *Search) back(i int, was []Share, value float64) {
	if was != nil {
		s.f.take(&s.p.Jobs[i], was)
		s.places[i], s.value[i] = was, value
	}
}

// settle places a job at a size or the largest below it.
func (s *Search) settle(i, size int) bool {
	j := &s.p.Jobs[i]
	for k := len(j.Sizes) - 1; k >= 0; k-- {
		if n := j.Sizes[k].GPUs; n <= size {
			if at, ok := s.place(i, n); ok {
				s.put(i, at)
				return true
			}
		}
	}
	return false
}

// rescue finds room for jobs that must have some: other jobs give back what they have beyond
// their smallest size, those with most GPUs first.
// Each job is squeezed at most once, for whichever job comes first.
func (s *Search) rescue() bool {
	var order []int
	for i := range s.p.Jobs {
		if s.places[i] != nil && len(s.p.Jobs[i].Sizes) > 0 && held(s.places[i]) > s.p.Jobs[i].Sizes[0].GPUs {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return held(s.places[b]) - held(s.places[a]) })
	for i := range s.p.Jobs {
		if s.places[i] != nil || !s.p.Jobs[i].Must {
			continue
		}
		for !s.settle(i, s.p.Jobs[i].largest()) {
			if len(order) == 0 {
				return false
			}
			s.squeeze(order[0])
			order = order[1:]
		}
	}
	return true
}

// largest returns the largest accepted size; 0 if there is none.
func (j *Job) largest() int {
	if len(j.Sizes) == 0 {
		return 0
	}
	return j.Sizes[len(j.Sizes)-1].GPUs
}

// squeeze reduces a job to its smallest size, or puts it back where it was.
func (s *Search) squeeze(i int) {
	was, value := s.places[i], s.value[i]
	s.off(i)
	if at, ok := s.place(i, s.p.Jobs[i].Sizes[0].GPUs); ok {
		s.put(i, at)
		return
	}
	s.back(i, was, value)
}

// sum adds in the order of the jobs, so that equal plans have exactly equal values.
func (s *Search) sum() float64 {
	sum := 0.0
	for _, v := range s.value {
		sum += v
	}
	return sum
}

// Plan returns where each job was put last.
func (s *Search) Plan() Plan { return Plan{Places: slices.Clone(s.places), Value: s.sum()} }

// Orders returns count orders of the jobs: large sizes first, small ones first, then shuffled
// ones.
// It returns at least one, that of the large sizes first, and uses rng only beyond the second.
func Orders(sizes []int, count int, rng *rand.Rand) [][]int {
	large := make([]int, len(sizes))
	for i := range large {
		large[i] = i
	}
	slices.SortStableFunc(large, func(a, b int) int { return sizes[b] - sizes[a] })
	out := [][]int{large}
	if count > 1 {
		small := slices.Clone(large)
		slices.SortStableFunc(small, func(a, b int) int { return sizes[a] - sizes[b] })
		out = append(out, small)
	}
	for len(out) < count {
		mixed := slices.Clone(large)
		rng.Shuffle(len(mixed), func(a, b int) { mixed[a], mixed[b] = mixed[b], mixed[a] })
		out = append(out, mixed)
	}
	return out
}
