package costate

import "sort"

// newton bounds the steps to find one co-state. The function is convex and piecewise linear, so
// a few suffice.
const newton = 64

// Solver computes co-states, one problem after the other in the same memory. The zero value is
// ready; it is not safe for concurrent use.
type Solver struct {
	others []worth // segments of the jobs done so far, most valuable first
	width  []float64
	value  []float64 // width and value of others before entry i
	used   float64   // GPUs of their floors
	earned float64   // value of their floors
	out    []float64
}

// worth is a segment in units of value: slope times co-state.
type worth struct{ slope, width float64 }

// Values returns the co-state of each job, in seconds: what completing all of its remaining
// work saves. Jobs MUST be listed in the order in which they will end, and the floors together
// MUST NOT exceed capacity. A job without any rate gets 0 and takes nothing. A job without a
// rate on its floor, if the floors leave no GPU, is assumed to have the rate of its first GPU.
// The result is valid until the next call.
func (s *Solver) Values(jobs []Hull, capacity float64) []float64 {
	s.others, s.used, s.earned = s.others[:0], 0, 0
	if cap(s.out) < len(jobs) {
		s.out = make([]float64, len(jobs))
	}
	s.out = s.out[:len(jobs)]
	s.index()
	alive := 0.0
	for i := len(jobs) - 1; i >= 0; i-- {
		s.out[i] = 0
		if jobs[i].best() <= 0 {
			continue
		}
		alive++
		m := s.solve(jobs[i], capacity, alive)
		s.out[i] = m
		s.add(jobs[i], m)
	}
	return s.out
}

// best returns the largest rate of the hull.
func (h Hull) best() float64 {
	r := h.Floor.Rate
	for _, g := range h.Segments {
		r += g.Width * g.Slope
	}
	return r
}

// solve finds m with total(m) = k from above: total is convex and increasing.
func (s *Solver) solve(h Hull, capacity, k float64) float64 {
	first := h.Floor.Rate
	if first <= 0 {
		first = h.Segments[0].Slope // it earns at least this with its first GPU
	}
	m := k / first
	if h.Floor.Rate <= 0 && capacity-s.used-h.Floor.GPUs <= 0 {
		return m
	}
	for range newton {
		total, slope := s.total(h, m, capacity)
		if slope <= 0 {
			m *= 2
			continue
		}
		next := m - (total-k)/slope
		if next <= 0 || m-next <= 1e-12*m {
			break
		}
		m = next
	}
	return m
}

// total returns the value of the best division between the job at co-state m and the others,
// and its derivative with respect to m.
func (s *Solver) total(h Hull, m, capacity float64) (total, slope float64) {
	left := max(0, capacity-s.used-h.Floor.GPUs)
	rate, x := h.Floor.Rate, 0.0
	for _, g := range h.Segments {
		room := left - x - s.dearer(m*g.Slope)
		if room <= 0 {
			break
		}
		take := min(room, g.Width)
		x += take
		rate += take * g.Slope
	}
	return s.earned + m*rate + s.fill(left-x), rate
}

// dearer returns the width of the others' segments that are worth more than v per GPU.
func (s *Solver) dearer(v float64) float64 {
	return s.width[sort.Search(len(s.others), func(i int) bool { return s.others[i].slope <= v })]
}

// fill returns what the others earn on c GPUs beyond their floors.
func (s *Solver) fill(c float64) float64 {
	i := sort.SearchFloat64s(s.width, c) // width[i-1] < c <= width[i]
	switch {
	case i == 0:
		return 0
	case i > len(s.others):
		return s.value[len(s.others)]
	}
	return s.value[i-1] + (c-s.width[i-1])*s.others[i-1].slope
}

// add adds a job to the others.
func (s *Solver) add(h Hull, m float64) {
	s.used += h.Floor.GPUs
	s.earned += m * h.Floor.Rate
	for _, g := range h.Segments {
		v := m * g.Slope
		i := sort.Search(len(s.others), func(i int) bool { return s.others[i].slope < v })
		s.others = append(s.others, worth{})
		copy(s.others[i+1:], s.others[i:])
		s.others[i] = worth{v, g.Width}
	}
	s.index()
}

func (s *Solver) index() {
	n := len(s.others) + 1
	if cap(s.width) < n {
		s.width, s.value = make([]float64, n, 2*n), make([]float64, n, 2*n)
	}
	s.width, s.value = s.width[:n], s.value[:n]
	s.width[0], s.value[0] = 0, 0
	for i, o := range s.others {
		s.width[i+1] = s.width[i] + o.width
		s.value[i+1] = s.value[i] + o.width*o.slope
	}
}
