package speed

import "math"

// Foretold is an answer for a shape nobody tried on a kind of node, in any unit of time;
// false where the curve's own is to be believed.
type Foretold func(kind string, s Shape) (seconds float64, believed bool)

// told is what was foretold, brought to the curve's unit of time.
type told struct {
	kind  string
	of    Foretold
	scale float64
}

// Foretell returns the curve with shapes nobody tried answered by a model that knows
// better, where it is to be believed. It may count time in another unit: what it says of
// shapes that were tried tells in which. All that is believed of a shape nobody tried is
// kept within the bounds it has in any case (see Seconds); what was measured stands, and
// so does a curve that is Known, or of which nothing is known.
func (c *Curve) Foretell(f Foretold) *Curve {
	if c == nil || c.known != nil || len(c.measured) == 0 {
		return c
	}
	if c.kin == nil {
		return c.told("", f)
	}
	kin := &family{base: c.kin.base, on: make(map[string]*Curve, len(c.kin.on))}
	own := c
	for kind, k := range c.kin.on {
		t := k.told(kind, f)
		if k == c {
			own = t
		}
		kin.on[kind] = t
	}
	for _, t := range kin.on {
		t.kin = kin
	}
	return own
}

func (c *Curve) told(kind string, f Foretold) *Curve {
	out := &Curve{knowledge: c.knowledge}
	out.foretold = nil
	ratios, weights := make([]float64, 0, len(c.measured)), make([]float64, 0, len(c.measured))
	for _, p := range c.measured {
		if seconds, _ := f(kind, p.Shape); sane(seconds) {
			ratios, weights = append(ratios, p.seconds/seconds), append(weights, p.count)
		}
	}
	if len(ratios) > 0 {
		out.foretold = &told{kind, f, median(ratios, weights)}
	}
	return out
}

// seconds is what was foretold of a shape for which the curve's own form says so much; false where
// nothing is to be believed. As with deviations that were measured, nobody is believed to
// know of more than a factor of e^farthest.
func (t *told) seconds(s Shape, own float64) (float64, bool) {
	if t == nil {
		return 0, false
	}
	seconds, believed := t.of(t.kind, s)
	if !believed || !sane(seconds) {
		return 0, false
	}
	return min(max(seconds*t.scale, own*math.Exp(-farthest)), own*math.Exp(farthest)), true
}

// sane is a time that keeps later products finite; NaN is none.
func sane(seconds float64) bool { return seconds > 1e-12 && seconds < 1e15 }
