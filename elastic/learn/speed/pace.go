package speed

import (
	"math"
	"time"
)

// unlike is how much the ratio of a unit to a step may differ between sizes. If it differs by
// more, steps are not the same work at every size, and say nothing about units.
const unlike = 1.3

// FitWith is Fit for a job whose step time is known too, while it counts its work in another
// unit. A step is assumed to be the same part of a unit at every size, as with a constant
// global batch. Where both were measured that part is learned. Until then the curve has the
// right form but no seconds, and Samples is 0. If the two contradict each other only the units
// count. Samples of several node types make a curve for each; see On.
func FitWith(units, steps []Sample, now time.Time) *Curve {
	kinds := kindsOf(units, steps)
	if len(kinds) > 1 {
		return fitKinds(units, steps, kinds, now)
	}
	c := fitWith(units, steps, now)
	if c != nil && len(kinds) == 1 {
		c.kind = kinds[0]
	}
	return c
}

// fitWith is FitWith for one node type.
func fitWith(units, steps []Sample, now time.Time) *Curve {
	own, paced := fit(units, now), fit(steps, now)
	if paced == nil {
		return own
	}
	if own == nil {
		one, _ := paced.Seconds(Shape{GPUs: 1, Nodes: 1})
		c := fit(scaled(steps, 1/one, nil), now)
		if c != nil { // scaling may move extreme step times out of bounds
			c.samples = 0
		}
		return c
	}
	part, ok := own.part(paced)
	if !ok {
		return own
	}
	return fit(append(scaled(steps, part, own), units...), now)
}

// part returns how many steps make a unit, from the shapes where units were measured; false if
// these shapes disagree.
func (c *Curve) part(steps *Curve) (float64, bool) {
	ratios, weights := make([]float64, len(c.measured)), make([]float64, len(c.measured))
	least, most := math.Inf(1), 0.0
	for i, p := range c.measured {
		seconds, src := steps.Seconds(p.Shape)
		ratios[i], weights[i] = p.seconds/seconds, p.count
		if src == Measured {
			least, most = min(least, ratios[i]), max(most, ratios[i])
		}
	}
	return median(ratios, weights), most <= unlike*least
}

// scaled multiplies the time of samples, and leaves out the shapes that but has measured.
func scaled(samples []Sample, by float64, but *Curve) []Sample {
	var out []Sample
	for _, s := range samples {
		if but != nil {
			if _, measured := but.at(s.Shape); measured {
				continue
			}
		}
		s.Seconds *= by
		out = append(out, s)
	}
	return out
}

// Tried returns how many samples, of equal weight, there are for a number of GPUs, on any
// number of nodes.
func (c *Curve) Tried(gpus int) float64 {
	switch {
	case c == nil:
		return 0
	case c.known != nil:
		return math.Inf(1)
	}
	sum := 0.0
	for _, p := range c.measured {
		if p.GPUs == gpus && !p.lent {
			sum += p.count
		}
	}
	return sum
}
