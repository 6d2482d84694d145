package report

import "time"

// series is an amount over time, kept as its integral over slots of equal width.
// The number of slots is bounded: when time outgrows them, neighbours are joined.
// Adding to it costs the same however long the span is.
type series struct {
	width time.Duration
	// part holds the amount-seconds of spans' ends, level the change of the amount
	// that whole slots from here on have.
	part, level []float64
}

// finest is the width a series begins with.
const finest = time.Second

func newSeries(slots int) *series {
	return &series{width: finest, part: make([]float64, slots), level: make([]float64, slots)}
}

// add lets the amount be so much higher from one moment to the other; what lies
// before 0 is left out.
func (s *series) add(from, to time.Duration, amount float64) {
	from = max(from, 0)
	if to <= from || amount == 0 {
		return
	}
	for int64(to/s.width) >= int64(len(s.part)) {
		s.coarsen()
	}
	a, b := int(from/s.width), int(to/s.width)
	if a == b {
		s.part[a] += amount * (to - from).Seconds()
		return
	}
	s.part[a] += amount * (time.Duration(a+1)*s.width - from).Seconds()
	s.part[b] += amount * (to - time.Duration(b)*s.width).Seconds()
	s.level[a+1] += amount
	s.level[b] -= amount
}

// coarsen joins neighbouring slots.
func (s *series) coarsen() {
	whole := s.integrals()
	clear(s.part)
	clear(s.level)
	for i, v := range whole {
		s.part[i/2] += v
	}
	s.width *= 2
}

// integrals returns amount-seconds slot by slot.
func (s *series) integrals() []float64 {
	out := make([]float64, len(s.part))
	now, wide := 0.0, s.width.Seconds()
	for i := range out {
		now += s.level[i]
		out[i] = s.part[i] + now*wide
	}
	return out
}

// means returns the mean amount in n even steps of the time to end; end is above 0.
func (s *series) means(end time.Duration, n int) []float64 {
	out := make([]float64, n)
	step := end.Seconds() / float64(n)
	wide := s.width.Seconds()
	for i, v := range s.integrals() {
		if v == 0 {
			continue
		}
		spill(out, float64(i)*wide/step, float64(i+1)*wide/step, v)
	}
	for i := range out {
		out[i] /= step
	}
	return out
}

// spill divides v evenly over the cells between two positions; beyond the last
// cell it is left out.
func spill(out []float64, from, to, v float64) {
	for i := int(from); i < len(out) && float64(i) < to; i++ {
		covered := min(to, float64(i+1)) - max(from, float64(i))
		out[i] += v * covered / (to - from)
	}
}
