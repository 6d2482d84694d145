package search

import (
	"math"
	"math/rand/v2"

	"github.com/sluice-hpc/sluice/elastic/sweep/space"
)

// What Optuna's TPESampler calls gamma, n_ei_candidates and prior_weight.
const (
	goodPart      = 10 // one trial of goodPart is good, rounded up,
	goodMost      = 25 // and not more than this
	tpeCandidates = 64
	full          = 25 // trials from which on older ones weigh less
	magnitude     = .2 // of a kernel's width, times n^(-1/(d+4))
	// A kernel narrower than this would only repeat its own sample.
	leastMagnitude = .01 // of the range
)

// parzen lists candidates by the ratio of the density of good trials to that of the others, the
// highest first. Running and failed trials are among the others: running ones as the constant lie
// that keeps lanes from trying the same. list has all samples in the order of their trials, judged
// those with a cost, the best first, at least one. Of 35 judged trials 4 are good. The ratio is
// ordered as the expected improvement is (Bergstra et al.). Candidates are drawn from the density
// of the good ones, so at most tpeCandidates points are compared.
func (p Problem) parzen(list, judged []sample, rng *rand.Rand) []space.Point {
	n := min((len(judged)+goodPart-1)/goodPart, goodMost)
	border := judged[n-1].cost
	var good, bad []sample
	for _, s := range list {
		if (s.state == Done || s.state == Paused) && s.cost <= border && len(good) < n {
			good = append(good, s)
		} else {
			bad = append(bad, s)
		}
	}
	params := p.Space.Parameters()
	l, g := newDensity(params, good), newDensity(params, bad)
	points := p.valid(tpeCandidates, func() []float64 { return l.draw(rng) })
	var ratios []scored
	for _, point := range points {
		u, exists := p.Space.Units(point)
		ratios = append(ratios, scored{point: point, text: point.String(), value: l.log(u, exists) - g.log(u, exists)})
	}
	return ranked(ratios)
}

// density is a mixture of one kernel for each sample and one for the whole range. samples are the
// oldest first: their weights fall with age.
type density struct {
	params  []space.Parameter
	samples []sample
	weights []float64 // that of the whole range last; their sum is 1
	width   float64   // of each kernel, in parts of the range
}

// newDensity may get no samples: it is the even density then. The newest `full` samples have equal
// weights; the weights of older ones rise evenly from 1/n of that for the oldest.
func newDensity(params []space.Parameter, samples []sample) *density {
	n := len(samples)
	d := &density{params: params, samples: samples}
	d.width = max(magnitude*math.Pow(float64(max(n, 1)), -1/(float64(len(params))+4)), 1/min(100, float64(n)+2), leastMagnitude)
	sum := 1.
	for i := range n {
		w := 1.
		if old := n - full; i < old {
			w = 1/float64(n) + (1-1/float64(n))*float64(i)/float64(max(old-1, 1))
		}
		d.weights = append(d.weights, w)
		sum += w
	}
	d.weights = append(d.weights, 1)
	for i := range d.weights {
		d.weights[i] /= sum
	}
	return d
}

// draw is a place of the mixture. One kernel is chosen by its weight, and all coordinates come from
// it: that keeps parameters that are good only together (multivariate). A parameter that its sample
// does not have is even.
func (d *density) draw(rng *rand.Rand) []float64 {
	u := uniform(len(d.params), rng)
	x, k := rng.Float64(), 0
	for k < len(d.samples) && x >= d.weights[k] {
		x -= d.weights[k]
		k++
	}
	if k == len(d.samples) {
		return u
	}
	s := d.samples[k]
	for i, param := range d.params {
		switch {
		case !s.exists[i]:
		case param.Numeric():
			u[i] = truncated(s.u[i], d.width, u[i])
		case rng.Float64() < d.same(param):
			u[i] = s.u[i]
		}
	}
	return u
}

// same is the part of a choice's kernel that is on the sample's own choice; the rest is even over
// all choices. With 10 samples and 2 choices it is 10/12, with 1 sample and 2 choices 1/3: few
// samples say little.
func (d *density) same(param space.Parameter) float64 {
	n := float64(max(len(d.samples), 1))
	return n / (n + float64(len(param.Choices)))
}

// log is the logarithm of the density at u, of the parameters that exist there. A parameter that a
// sample does not have counts as even there, which is 0 in its logarithm. The largest term is taken
// out of the sum, so that 64 parameters do not underflow.
func (d *density) log(u []float64, exists []bool) float64 {
	terms := make([]float64, len(d.weights))
	highest := math.Inf(-1)
	for k := range d.weights {
		terms[k] = math.Log(d.weights[k])
		for i, param := range d.params {
			if exists[i] && k < len(d.samples) && d.samples[k].exists[i] {
				terms[k] += math.Log(d.kernel(param, d.samples[k].u[i], u[i]))
			}
		}
		highest = max(highest, terms[k])
	}
	sum := 0.
	for _, t := range terms {
		sum += math.Exp(t - highest)
	}
	return highest + math.Log(sum)
}

// kernel is the density at x of the sample at mu, relative to an even one. Where values are farther
// apart than the kernel is fine (half a part above a tenth of its width) it is the mean over the
// value's part, not the density at its middle. A choice has same on the sample's own one and the
// rest on all n. It is at least `least`, so its logarithm is finite.
func (d *density) kernel(param space.Parameter, mu, x float64) float64 {
	const least = 1e-12
	if !param.Numeric() {
		n := float64(len(param.Choices))
		even := 1 - d.same(param)
		if math.Abs(mu-x) < .5/n {
			return n*d.same(param) + even
		}
		return even
	}
	half := 0.
	if n := param.Count(); !math.IsInf(n, 0) && param.Kind != space.LogInt {
		half = .5 / n
	}
	inside := phi((1-mu)/d.width) - phi(-mu/d.width)
	if half > d.width/10 {
		return max((phi((x+half-mu)/d.width)-phi((x-half-mu)/d.width))/inside/(2*half), least)
	}
	z := (x - mu) / d.width
	return max(math.Exp(-z*z/2)/(d.width*math.Sqrt(2*math.Pi))/inside, least)
}

// phi is the standard normal distribution function.
func phi(z float64) float64 { return .5 * math.Erfc(-z/math.Sqrt2) }

// truncated is the value at quantile q of a normal distribution between 0 and 1. It is by the
// inverse of the distribution, not by rejection, so one random number gives one coordinate and
// draws do not depend on how many were rejected. q is in [0, 1).
func truncated(mu, sigma, q float64) float64 {
	low, high := phi(-mu/sigma), phi((1-mu)/sigma)
	z := math.Sqrt2 * math.Erfinv(2*(low+q*(high-low))-1)
	return min(max(mu+sigma*z, 0), 1)
}
