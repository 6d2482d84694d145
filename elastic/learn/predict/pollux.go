package predict

import "math"

// Pollux is the form of Qiao et al., OSDI 2021, section 4.1. With b examples per GPU and r
// GPUs, a step computes for c = alpha_c + beta_c*b and synchronizes for s = alpha +
// beta*max(r-2, 0), 0 on 1 GPU, with separate alpha and beta within a node and across nodes.
// gamma says how far the two overlap:
//
//	(c^gamma + s^gamma)^(1/gamma)
//
// It is fitted as its authors fit it (AdaptDL, goodput.py, fit_perf_params): it minimizes the
// root mean squares of the errors of the logarithms of the step and of its computing part;
// gamma is drawn towards 1, and beta towards being small relative to alpha. While no job was
// measured on several nodes, spanning them is assumed to cost a tenth more than within one;
// that is the authors' later prior, without which this form has no estimate there.
var Pollux = Form{"pollux", fitPollux}

// parameters are alpha_c, beta_c, alpha and beta across nodes, alpha and beta within one,
// gamma.
type parameters [7]float64

const (
	within, across = 4, 2 // index of alpha; its beta follows
	gamma          = 6
	smallest       = 1e-8 // lower bound of all parameters but gamma
	steepestGamma  = 10   // upper bound of gamma, where almost only the longer of the two counts
)

// polluxStarts are where the search begins: the authors' own point, and points that are slower,
// faster, and overlap more.
var polluxStarts = []parameters{
	{.1, .01, .1, .01, .1, .01, 1.001}, {.01, .001, .01, .001, .01, .001, 1.5}, {1, .001, 1, .01, .1, .01, 2}, {.05, .002, .05, .004, .02, .002, 4},
}

// fitPollux descends from each start and takes the lowest cost. It never fails: if no descent gives
// a number the first start is the answer.
func fitPollux(observations []Observation) (Predictor, error) {
	f := polluxFit{observations: observations}
	for _, o := range observations {
		f.nodes = f.nodes || o.spans()
		f.scale = max(f.scale, o.part())
	}
	var best parameters
	lowest := math.Inf(1)
	for _, start := range polluxStarts {
		start[1] /= f.scale // scaled to the batch size
		p, cost := f.descend(start)
		if cost < lowest { // false for NaN
			best, lowest = p, cost
		}
	}
	if math.IsInf(lowest, 1) {
		best = polluxStarts[0]
	}
	if !f.nodes {
		best[across] = 1.1 * best[within]
		best[across+1] = 1.1 * best[within+1]
	}
	return bounded(func(c Configuration) float64 { seconds, _ := best.predict(c); return seconds }), nil
}

// polluxFit is the input of the search.
type polluxFit struct {
	observations []Observation
	nodes        bool    // some observation spans several nodes
	scale        float64 // largest batch of a GPU
}

// descend searches over the logarithms of the parameters, and over the log odds of gamma
// between its bounds, so that the search has no bounds.
func (f *polluxFit) descend(from parameters) (parameters, float64) {
	x, cost := descend(fold(from), func(x []float64) (float64, []float64) {
		p := unfold(x)
		cost, by := f.cost(p)
		slope := make([]float64, len(p))
		for i := range gamma {
			slope[i] = by[i] * (p[i] - smallest)
		}
		odds := (p[gamma] - 1) / (steepestGamma - 1)
		slope[gamma] = by[gamma] * (steepestGamma - 1) * odds * (1 - odds)
		return cost, slope
	})
	return unfold(x), cost
}

// fold returns the point of the search for parameters; unfold is its inverse.
func fold(p parameters) []float64 {
	x := make([]float64, len(p))
	for i := range gamma {
		x[i] = math.Log(max(p[i], 2*smallest) - smallest)
	}
	odds := (p[gamma] - 1) / (steepestGamma - 1)
	x[gamma] = math.Log(odds / (1 - odds))
	return x
}

// unfold returns parameters within their bounds for any x.
func unfold(x []float64) (p parameters) {
	for i := range gamma {
		p[i] = smallest + math.Exp(min(40, x[i])) // above any possible number of seconds
	}
	p[gamma] = 1 + (steepestGamma-1)/(1+math.Exp(-x[gamma]))
	return p
}

// network returns the index of a configuration's alpha and beta and the factor of beta; false
// on 1 GPU.
func (c Configuration) network() (at int, times float64, ok bool) {
	r := c.GPUs()
	switch {
	case c.spans():
		return across, max(float64(r-2), smallest), true
	case r > 1:
		return within, max(float64(r-2), smallest), true
	}
	return 0, 0, false
}

// predict returns the seconds of a step and of its computing part.
// On 1 GPU there is no waiting for others.
func (p parameters) predict(c Configuration) (step, compute float64) {
	compute = p[0] + p[1]*c.part()
	wait := smallest
	if at, times, ok := c.network(); ok {
		wait = p[at] + p[at+1]*times
	}
	return norm(compute, wait, p[gamma]), compute
}

// norm returns (a^g + b^g)^(1/g), without overflow.
// With g of 1 it is the sum, nothing overlaps; the larger g, the nearer it is to the larger of a and b.
func norm(a, b, g float64) float64 {
	if a < b {
		a, b = b, a
	}
	return a * math.Exp(math.Log1p(math.Pow(b/a, g))/g)
}
