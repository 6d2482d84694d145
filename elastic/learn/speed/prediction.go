package speed

import "math"

// Prediction predicts a shape that was not measured, on a node type, in any unit of time; false
// if the curve's own answer is to be used.
//
// It MUST be deterministic and safe for concurrent use: its answers are cached.
type Prediction func(kind string, s Shape) (seconds float64, used bool)

// prediction is a Prediction, scaled to the curve's unit of time.
type prediction struct {
	kind  string
	of    Prediction
	scale float64
}

// Predicted returns the curve with predictions for the shapes that were not measured, where f
// returns true. Predictions may be in another unit of time: the scale follows from what they
// say of measured shapes. They are kept within the bounds of the curve (see Seconds). Measured
// shapes keep their times; a curve that is Known, or without samples, is returned unchanged.
func (c *Curve) Predicted(f Prediction) *Curve {
	if c == nil || c.known != nil || len(c.measured) == 0 {
		return c
	}
	if c.kin == nil {
		return c.predictedOn("", f)
	}
	kin := &family{base: c.kin.base, on: make(map[string]*Curve, len(c.kin.on))}
	own := c
	for kind, k := range c.kin.on {
		t := k.predictedOn(kind, f)
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

// predictedOn is Predicted for one node type. If f says nothing of any measured shape there is no
// scale, and nothing is predicted.
func (c *Curve) predictedOn(kind string, f Prediction) *Curve {
	out := &Curve{knowledge: c.knowledge}
	out.predicted = nil
	ratios, weights := make([]float64, 0, len(c.measured)), make([]float64, 0, len(c.measured))
	for _, p := range c.measured {
		if seconds, _ := f(kind, p.Shape); sane(seconds) {
			ratios, weights = append(ratios, p.seconds/seconds), append(weights, p.count)
		}
	}
	if len(ratios) > 0 {
		out.predicted = &prediction{kind, f, median(ratios, weights)}
	}
	return out
}

// seconds returns the prediction for a shape for which the curve's own form says own; false if
// there is none. Like measured deviations, a prediction differs from own by a factor of at most
// e^farthest.
func (t *prediction) seconds(s Shape, own float64) (float64, bool) {
	if t == nil {
		return 0, false
	}
	seconds, used := t.of(t.kind, s)
	if !used || !sane(seconds) {
		return 0, false
	}
	return min(max(seconds*t.scale, own*math.Exp(-farthest)), own*math.Exp(farthest)), true
}

// sane reports whether a time keeps later products finite; NaN does not.
func sane(seconds float64) bool { return seconds > 1e-12 && seconds < 1e15 }
