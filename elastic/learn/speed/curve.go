package speed

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Source is where an answer of a Curve comes from.
type Source string

// The sources, most reliable first.
const (
	Measured Source = "measured" // samples of this very shape
	Learned  Source = "learned"  // a form that predicts better, over other shapes; see Predicted
	Fitted   Source = "fitted"   // least squares over other shapes
	Prior    Source = "prior"    // nothing measured there: the prior, scaled to what was measured elsewhere
)

// superlinear bounds the speed-up: g times the GPUs are never assumed to be more than
// superlinear*g times as fast. Caches give real jobs a little more than g; a larger speed-up is
// an error in the samples, and would attract GPUs.
const superlinear = 1.25

// drag bounds the slow-down: a shape that was not measured is never assumed to be more than
// drag times as fast as a measured one with as many GPUs or more.
const drag = 4

// Curve is a job's time per unit of work in every shape. See Fit. A nil Curve returns the
// relative prior, in which one unit on 1 GPU takes 1 s.
type Curve struct {
	knowledge
	memo memo
}

// knowledge is what a curve answers from. It never changes.
type knowledge struct {
	measured  []point  // ascending by GPUs, then nodes; superlinear speed-ups capped
	form      form     // for every other shape, in seconds
	residual  residual // deviation of the measured shapes from form
	source    Source   // of form and residual
	samples   int
	known     func(split []int) float64 // answers everything; set in Known only
	idle      *idle                     // nil if the GPUs were never observed
	predicted *prediction               // used instead of form and residual; nil = there is none
	kin       *family                   // the curves on other node types; nil = only one type is known
	kind      string                    // that type, if only one is known; "" = it is not known
	factor    float64                   // of every answer; 0 = 1. See Times
}

// point sums up one shape's samples.
type point struct {
	Shape
	seconds float64
	count   float64 // number of samples of equal weight
	scatter float64 // how far the samples differ; see Scatter
	lent    bool    // none was measured on this node type
}

// Fit returns the curve of samples in any order; samples that are not finite, not positive or
// of an impossible shape are ignored. now dates them: old samples of a shape weigh less than
// new ones. Fit returns nil if no sample is usable. Samples of several node types make a curve
// for each; see On.
func Fit(samples []Sample, now time.Time) *Curve { return FitWith(samples, nil, now) }

// fit is Fit for samples that are of one node type, or stand for one.
func fit(samples []Sample, now time.Time) *Curve {
	c := &Curve{}
	for _, of := range byShape(samples) {
		seconds, count := robustMean(of, now)
		c.measured = append(c.measured, point{of[0].Shape, seconds, count, scatterOf(of), false})
		c.samples += len(of)
	}
	if c.samples == 0 {
		return nil
	}
	c.form, c.source = fitForm(c.measured)
	for i := range c.measured { // ascending, so that each point is capped by points that are capped already
		p := &c.measured[i]
		p.seconds = max(p.seconds, c.floor(p.Shape))
	}
	c.residual = newResidual(c.measured, c.form)
	return c
}

// byShape groups the usable samples, ascending by GPUs, then nodes, each group
// from oldest to newest.
func byShape(samples []Sample) [][]Sample {
	usable := make([]Sample, 0, len(samples))
	for _, s := range samples {
		if s.usable() {
			usable = append(usable, s)
		}
	}
	slices.SortStableFunc(usable, func(a, b Sample) int {
		return cmp.Or(a.compare(b.Shape), a.At.Compare(b.At), cmp.Compare(a.Seconds, b.Seconds), cmp.Compare(a.Units, b.Units))
	})
	var out [][]Sample
	first := 0 // of the group that i ends
	for i := 1; i <= len(usable); i++ {
		if i == len(usable) || usable[i].Shape != usable[first].Shape {
			out = append(out, usable[first:i:i])
			first = i
		}
	}
	return out
}

// usable reports whether the sample may be part of a curve.
func (s Sample) usable() bool {
	// The bounds keep every later product finite; NaN fails the comparisons.
	sane := func(x float64) bool { return x > 1e-9 && x < 1e12 }
	return sane(s.Seconds) && sane(s.Units) && s.GPUs >= 1 && s.Nodes >= 1 && s.Nodes <= s.GPUs
}

func (s Shape) compare(t Shape) int {
	return cmp.Or(cmp.Compare(s.GPUs, t.GPUs), cmp.Compare(s.Nodes, t.Nodes))
}

// possible returns the nearest shape that can exist.
func (s Shape) possible() Shape {
	s.GPUs = max(1, s.GPUs)
	s.Nodes = min(max(1, s.Nodes), s.GPUs)
	return s
}

// Seconds returns the time of a unit of work in the shape, always positive and finite, and
// where the answer comes from. For an impossible shape it is the time of the nearest possible
// one. Where nothing was measured it is the expected time; decisions use Hoped.
func (c *Curve) Seconds(s Shape) (seconds float64, src Source) { return c.times(c.answer(s, 0)) }

// hope is by how many standard deviations a number of GPUs that was not tried is assumed to be
// faster than expected (upper confidence bounds; Auer, JMLR 3, 2002). If it is tried it is
// measured, and the next job of the model profits; if it were assumed to be slow it would never
// be tried.
const hope = 0.7

// Hoped is Seconds for decisions: a number of GPUs that was not tried is assumed to be faster
// by up to 8%, and by less the nearer it is to one that was. How the GPUs are spread over nodes
// gets no such bonus.
func (c *Curve) Hoped(s Shape) (seconds float64, src Source) { return c.times(c.answer(s, hope)) }

// answer subtracts benefit standard deviations of doubt for numbers of GPUs that were not
// tried.
//
// The bounds come AFTER the prediction: floor, by the speed-up of fewer GPUs; sink, by as many or
// more; packed, by fewer nodes; stall, by idle GPUs. So no predictor can promise more than they allow.
func (c *Curve) answer(s Shape, benefit float64) (seconds float64, src Source) {
	s = s.possible()
	if c == nil {
		c = unknown
	}
	if c.known != nil {
		return c.known(s.even()), Measured
	}
	if p, ok := c.at(s); ok {
		return p.seconds, p.source()
	}
	own := c.form.seconds(s)
	seconds, src = own*math.Exp(c.residual.of(s)), c.source
	if predicted, ok := c.predicted.seconds(s, own); ok {
		seconds, src = predicted, Learned
	}
	return max(seconds*math.Exp(-benefit*c.doubt(s)), c.floor(s), c.sink(s), c.packed(s), c.stall(s)), src
}

// doubt is the relative standard deviation of an answer that is due to the lack of a measured
// number of GPUs near by: the remaining deviation of a Gaussian process, with the residual's
// covariance, beside one point. It is 0 where nothing at all is measured, since every answer is
// then equally uncertain.
func (c *Curve) doubt(s Shape) float64 {
	least := 0.0
	for i, p := range c.measured {
		d := math.Abs(math.Log2(float64(s.GPUs) / float64(p.GPUs)))
		if i == 0 || d < least {
			least = d
		}
	}
	return deviation * math.Sqrt(1-math.Exp(-2*least/reach))
}

func (c *Curve) at(s Shape) (point, bool) {
	i, ok := slices.BinarySearchFunc(c.measured, s, func(p point, s Shape) int { return p.compare(s) })
	if !ok {
		return point{}, false
	}
	return c.measured[i], true
}

// source is Measured for samples of this very node type.
func (p point) source() Source {
	if p.lent {
		return Fitted
	}
	return Measured
}

// floor returns the shortest time accepted in the shape, given the times of smaller ones.
func (c *Curve) floor(s Shape) float64 {
	least := 0.0
	for _, p := range c.measured {
		if p.GPUs >= s.GPUs {
			break
		}
		least = max(least, p.seconds*float64(p.GPUs)/(float64(s.GPUs)*superlinear))
	}
	return least
}

// packed returns the time of as many GPUs on the fewest nodes measured, if these are fewer.
// More nodes may be faster, but only measurements may say so.
func (c *Curve) packed(s Shape) float64 {
	for _, p := range c.measured {
		if p.GPUs == s.GPUs && p.Nodes < s.Nodes {
			return p.seconds
		}
	}
	return 0
}

// sink returns the shortest time accepted in an unmeasured shape, given the times of shapes as
// large or larger. With floor it keeps every answer above zero.
func (c *Curve) sink(s Shape) float64 {
	least := 0.0
	for _, p := range c.measured {
		if p.GPUs >= s.GPUs {
			least = max(least, p.seconds/drag)
			break // the nearest is the strictest
		}
	}
	return least
}

// Samples returns how many samples the curve is made of; 0 means that its answers are relative,
// not seconds.
func (c *Curve) Samples() int {
	if c == nil {
		return 0
	}
	return c.samples
}

// Shapes returns the shapes that were measured, ascending by GPUs, then nodes.
func (c *Curve) Shapes() []Shape {
	if c == nil {
		return nil
	}
	out := make([]Shape, 0, len(c.measured))
	for _, p := range c.measured {
		if !p.lent {
			out = append(out, p.Shape)
		}
	}
	return out
}

// Confidence returns how reliable the answer for a shape is, from 0 (the prior) towards 1. It
// is n/(n+1) with n samples of the shape; without any, half of the nearest measured shape's,
// less with each doubling of GPUs or nodes in between.
func (c *Curve) Confidence(s Shape) float64 {
	s = s.possible()
	if c == nil {
		return 0
	}
	if c.known != nil {
		return 1
	}
	if p, ok := c.at(s); ok && !p.lent {
		return p.count / (p.count + 1)
	}
	if c.source == Prior {
		return 0
	}
	best := 0.0
	for _, p := range c.measured {
		away := math.Abs(math.Log2(float64(s.GPUs)/float64(p.GPUs))) + math.Abs(math.Log2(float64(s.Nodes)/float64(p.Nodes)))
		best = max(best, 0.5*p.count/(p.count+1)/(1+away))
	}
	return best
}
