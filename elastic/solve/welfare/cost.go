package welfare

// Cost is the cost per hour of using a resource: piecewise linear in the units used, and convex
// if rates ascend. An empty Cost is 0.
//
// For example {{0, 0.1}, {8, 0.3}}: 8 units cost 0.8 an hour, and 10 units 1.4.
type Cost []Step

// Step is the cost of each unit from some use on.
type Step struct {
	From int64   // units in use from which on Rate applies; the first step's is 0, ascending
	Rate float64 // per hour and unit, ascending, at least 0
}

// At returns the cost per hour of this many units in use.
func (c Cost) At(used int64) float64 {
	sum := 0.0
	for i, s := range c {
		to := used
		if i+1 < len(c) {
			to = min(used, c[i+1].From)
		}
		if to <= s.From {
			break
		}
		sum += float64(to-s.From) * s.Rate
	}
	return sum
}

// slope returns the cost of the next unit.
func (c Cost) slope(used int64) float64 {
	rate := 0.0
	for _, s := range c {
		if s.From > used {
			break
		}
		rate = s.Rate
	}
	return rate
}

// kinks returns the uses, up to most more than used, at which the slope changes, both ends
// included, relative to used.
// A piecewise linear function less a linear one is largest at one of them.
func (c Cost) kinks(used, most int64) []int64 {
	out := []int64{0}
	for _, s := range c {
		if s.From > used && s.From < used+most {
			out = append(out, s.From-used)
		}
	}
	return append(out, most)
}
