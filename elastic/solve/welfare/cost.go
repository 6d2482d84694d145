package welfare

// Cost is what so much use of a resource costs an hour: piecewise linear, and convex
// when rates ascend. None is nothing.
type Cost []Step

// Step is what each further unit costs.
type Step struct {
	From int64   // units in use; the first step's is 0, ascending
	Rate float64 // an hour and unit, ascending, at least 0
}

// At is the cost of so many units in use.
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

// slope is what the next unit costs.
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

// kinks are the uses, up to most more than used, at which the slope changes, both
// ends included, as what is more than used.
func (c Cost) kinks(used, most int64) []int64 {
	out := []int64{0}
	for _, s := range c {
		if s.From > used && s.From < used+most {
			out = append(out, s.From-used)
		}
	}
	return append(out, most)
}
