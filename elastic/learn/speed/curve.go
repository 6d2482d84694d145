package speed

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Source says where an answer of a Curve comes from.
type Source string

// The sources, best first.
const (
	Measured Source = "measured" // samples of this very shape
	Learned  Source = "learned"  // a better form over other shapes; see Foretell
	Fitted   Source = "fitted"   // least squares over other shapes
	Prior    Source = "prior"    // nothing measured there: an assumption, scaled to what was measured elsewhere
)

// superlinear bounds the speed-up believed: g times the GPUs are never taken to
// be more than superlinear*g times as fast. Caches give real jobs a little more
// than g; more than this is a mistake in the samples, and would draw GPUs.
const superlinear = 1.25

// drag bounds the slow-down believed: a shape nobody measured is never taken to
// be more than drag times as fast as a measured one with as many GPUs or more.
const drag = 4

// Curve is a job's time per unit of work in every shape. See Fit. A nil Curve
// answers with the relative prior, in which one unit on one GPU takes 1 second.
type Curve struct {
	knowledge
	memo memo
}

// knowledge is what a curve answers by. It never changes.
type knowledge struct {
	measured []point  // ascending by GPUs, then nodes; superlinear claims capped
	form     form     // for every other shape, in seconds
	residual residual // what form leaves of the measured shapes
	source   Source   // of form and residual
	samples  int
	known    func(split []int) float64 // answers everything; nil but in Known
	idle     *idle                     // nil where nothing was seen of the GPUs
	foretold *told                     // instead of form and residual; nil = nobody knows better
	kin      *family                   // the curves on other kinds of node; nil = one kind is known
	kind     string                    // where one kind is known, that; "" = not known which
}

// point is one shape's samples in short.
type point struct {
	Shape
	seconds float64
	count   float64 // how many samples of equal weight they are worth
	scatter float64 // how far they differ; see Scatter
	lent    bool    // none was seen on this kind of node
}

// Fit makes a curve of samples in any order; those that are not finite, not
// positive or of an impossible shape are ignored. now dates them: old samples
// of a shape weigh less than new ones. Fit returns nil when nothing is usable.
// Samples of several kinds of node make a curve for each; see On.
func Fit(samples []Sample, now time.Time) *Curve { return FitWith(samples, nil, now) }

// fit is Fit for samples that are, or stand for, one kind of node's.
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
	for i := range c.measured { // ascending, so that each is capped by capped ones
		p := &c.measured[i]
		p.seconds = max(p.seconds, c.floor(p.Shape))
	}
	c.residual = newResidual(c.measured, c.form)
	return c
}

// byShape groups the usable samples, ascending by GPUs, then nodes, each group
// from oldest to newest.
func byShape(samples []Sample) [][]Sample {
	var usable []Sample
	for _, s := range samples {
		if s.usable() {
			usable = append(usable, s)
		}
	}
	slices.SortStableFunc(usable, func(a, b Sample) int {
		return cmp.Or(a.compare(b.Shape), a.At.Compare(b.At), cmp.Compare(a.Seconds, b.Seconds), cmp.Compare(a.Units, b.Units))
	})
	var out [][]Sample
	for i, s := range usable {
		if i == 0 || s.Shape != usable[i-1].Shape {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], s)
	}
	return out
}

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

// Seconds returns how long a unit of work takes in the shape, always positive
// and finite, and where the answer comes from. Shapes that cannot exist are
// answered by the nearest that can. Where nothing was measured it is the time to
// expect; see Hoped for what decisions go by.
func (c *Curve) Seconds(s Shape) (seconds float64, src Source) { return c.answer(s, 0) }

// hope is by how many standard deviations a number of GPUs nobody tried is taken to
// be faster than expected: tried, it is measured, and the next job of the model
// knows; one wrongly thought slow is never tried, and nobody ever knows (upper
// confidence bounds; Auer, JMLR 3, 2002).
const hope = 0.7

// Hoped is Seconds for decisions: a number of GPUs that nobody tried is given the
// benefit of the doubt, 8% at most, and less the nearer it is to one that was.
// How the GPUs are spread over nodes is never a matter of hope.
func (c *Curve) Hoped(s Shape) (seconds float64, src Source) { return c.answer(s, hope) }

// answer gives numbers of GPUs that nobody tried so many standard deviations of
// doubt.
func (c *Curve) answer(s Shape, benefit float64) (seconds float64, src Source) {
	s = s.possible()
	if c == nil {
		c = unknown
	}
	if c.known != nil {
		return c.known(s.Even()), Measured
	}
	if p, ok := c.at(s); ok {
		return p.seconds, p.source()
	}
	own := c.form.seconds(s)
	seconds, src = own*math.Exp(c.residual.of(s)), c.source
	if told, ok := c.foretold.seconds(s, own); ok {
		seconds, src = told, Learned
	}
	return max(seconds*math.Exp(-benefit*c.doubt(s)), c.floor(s), c.sink(s), c.packed(s), c.stall(s)), src
}

// doubt is how far off, as a relative standard deviation, an answer may be for want
// of a measured number of GPUs near by: what a Gaussian process of the residual's
// covariance has left beside one point. Where nothing at all is measured every
// answer is as doubtful, and none is singled out.
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

// source is Measured for what was seen on this very kind of node.
func (p point) source() Source {
	if p.lent {
		return Fitted
	}
	return Measured
}

// floor is the shortest time believed in the shape, given what smaller ones take.
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

// packed is what as many GPUs take on the fewest nodes measured, when these are
// fewer: more nodes may be faster, but that is for measurements to say.
func (c *Curve) packed(s Shape) float64 {
	for _, p := range c.measured {
		if p.GPUs == s.GPUs && p.Nodes < s.Nodes {
			return p.seconds
		}
	}
	return 0
}

// sink is the shortest time believed in an unmeasured shape, given what shapes
// as large or larger take. With floor it keeps every answer above zero.
func (c *Curve) sink(s Shape) float64 {
	least := 0.0
	for _, p := range c.measured {
		if p.GPUs >= s.GPUs {
			least = max(least, p.seconds/drag)
			break // the nearest says most
		}
	}
	return least
}

// Samples returns how many samples the curve rests on; 0 means that its answers
// are relative, not seconds.
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

// Confidence returns how far the answer for a shape may be trusted, from 0 (an
// assumption) towards 1: n/(n+1) with n samples of the shape; where there are
// none, half of what the nearest measured shape deserves, less with each
// doubling of GPUs or nodes in between.
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
