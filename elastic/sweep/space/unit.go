package space

import "math"

// From is the value at u of the parameter's range, 0 <= u <= 1: every value of Int, Choice and a
// range with steps has an equal part of [0, 1), and LogInt's have parts as wide as they are by the
// logarithm. Equal parts are what makes a uniform u a uniform value: int:1:3 has 1 in [0, 1/3), 2
// in [1/3, 2/3) and 3 in the rest. Unit is the inverse; From(Unit(v)) is v for every value that
// From returns, to about Digits digits where the range has no steps.
func (p Parameter) From(u float64) Value {
	u = min(max(u, 0), 1)
	if n := p.Count(); !math.IsInf(n, 0) && p.Kind != LogInt {
		return p.Nth(min(math.Floor(u*n), n-1))
	}
	var x float64
	switch p.Kind {
	case Log:
		x = math.Exp(math.Log(p.Low) + u*(math.Log(p.High)-math.Log(p.Low)))
	case LogInt:
		// Value v has the part from v-.5 to v+.5 of the range, so the ends have whole parts too.
		low, high := math.Log(p.Low-.5), math.Log(p.High+.5)
		x = math.Round(math.Exp(low + u*(high-low)))
	default:
		x = p.Low + u*(p.High-p.Low)
	}
	return p.near(x)
}

// near is the value of the range next to x, as it is printed. The ends are not rounded: a range
// from 1.23456789 begins there and not at 1.23457, and rounding never leaves it.
func (p Parameter) near(x float64) Value {
	v := Drawn(x)
	switch {
	case v.Number <= p.Low:
		return exactly(p.Low)
	case v.Number >= p.High:
		return exactly(p.High)
	}
	return v
}

// Nth is value i of a parameter with Count values, from 0. i is whole, and below Count, which MUST
// be finite. LogInt has all its whole numbers in this order.
func (p Parameter) Nth(i float64) Value {
	if !p.Numeric() {
		return spelled(p.Choices[int(i)])
	}
	return p.near(p.Low + i*p.Step)
}

// Unit is where the value lies in [0, 1], the middle of its part where From has parts; false if the
// parameter cannot have it. A value between two steps has the place of the nearest one.
func (p Parameter) Unit(v Value) (float64, bool) {
	if !p.has(v) {
		return 0, false
	}
	switch {
	case !p.Numeric():
		for i, text := range p.Choices {
			if text == v.Text {
				return (float64(i) + .5) / float64(len(p.Choices)), true
			}
		}
	case p.Low == p.High:
		return .5, true
	case p.Kind == LogInt:
		low, high := math.Log(p.Low-.5), math.Log(p.High+.5)
		return (math.Log(v.Number) - low) / (high - low), true
	case p.Kind == Log:
		return (math.Log(v.Number) - math.Log(p.Low)) / (math.Log(p.High) - math.Log(p.Low)), true
	case p.Step > 0:
		return min((math.Round((v.Number-p.Low)/p.Step)+.5)/p.Count(), 1), true
	}
	return (v.Number - p.Low) / (p.High - p.Low), true
}

// Place is the coordinate of the number x, of the nearest value that the parameter can have. The
// parameter is Numeric. x may be outside the range: then it is the place of the nearest end.
func (p Parameter) Place(x float64) float64 {
	x = min(max(x, p.Low), p.High)
	if p.Step > 0 {
		x = p.Low + math.Round((x-p.Low)/p.Step)*p.Step
	} else if p.Whole() {
		x = math.Round(x)
	}
	u, _ := p.Unit(p.near(x))
	return u
}
