package search

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sluice-hpc/sluice/elastic/sweep/space"
)

// gpMost bounds the trials that the Gaussian process is fitted to: the best half and the newest
// half of this number. Fitting takes a time that grows with its cube.
const gpMost = 240

// gaussian lists candidates by expected improvement, the highest first. Running trials count as
// trials with the mean of all costs (constant liar; Ginsbourger et al., 2010), failed ones as the
// third quartile: they are more often bad than good, but a node may be at fault. judged has at
// least 2 samples, the best first. Costs are standardised first, so the priors of fit need not know
// the metric's unit.
func (p Problem) gaussian(list, judged []sample, rng *rand.Rand) []space.Point {
	x, y := p.evidence(list, judged)
	params := p.Space.Parameters()
	m := fit(newLayout(params), x, y)
	best := slices.Min(y)
	a := &acquisition{problem: p, model: m, best: best, rng: rng}
	return a.candidates(judged)
}

// evidence is what the process is fitted to. y are costs with mean 0 and variance 1 over all judged
// trials, also those that thin leaves out.
func (p Problem) evidence(list, judged []sample) (x []sample, y []float64) {
	kept := thin(list, judged)
	costs := make([]float64, 0, len(judged))
	for _, s := range judged {
		costs = append(costs, s.cost)
	}
	scores := standard(costs)
	of := map[float64]float64{}
	for i, c := range costs {
		of[c] = scores[i]
	}
	for _, s := range kept {
		x = append(x, s)
		switch s.state {
		case Running:
			y = append(y, 0)
		case Failed:
			y = append(y, scores[3*len(scores)/4])
		default:
			y = append(y, of[s.cost])
		}
	}
	return x, y
}

// thin keeps the newest trials and the best ones if there are too many. At most gpMost are left, in
// the order of their trials.
func thin(list, judged []sample) []sample {
	if len(list) <= gpMost {
		return list
	}
	border := judged[min(len(judged), gpMost/2)-1].cost
	var kept []sample
	for i, s := range list {
		if i >= len(list)-gpMost/2 || (s.state == Done || s.state == Paused) && s.cost <= border {
			kept = append(kept, s)
		}
	}
	return kept[max(0, len(kept)-gpMost):]
}

// acquisition searches for the highest expected improvement. best is the lowest cost that the model
// was given.
type acquisition struct {
	problem Problem
	model   *process
	best    float64
	rng     *rand.Rand
}

// Sizes of the search: random places and places near the best trials, of which the best are
// improved step by step. About 1,200 places are valued for one suggestion, each in O(n^2).
const (
	gpRandom = 600
	gpNear   = 300
	gpStarts = 6
	gpSteps  = 50
)

// candidates are in order of preference; none if the constraints reject every place. Places near
// the 10 best trials are at distances from 1/100 to 1/3 of the range, evenly by the logarithm.
func (a *acquisition) candidates(judged []sample) []space.Point {
	d := len(a.problem.Space.Parameters())
	var all []scored
	for range gpRandom {
		all = a.add(all, uniform(d, a.rng))
	}
	for i := range gpNear {
		from := judged[i%min(len(judged), 10)]
		all = a.add(all, a.near(from.u, math.Pow(10, -.5-1.5*a.rng.Float64())))
	}
	rank(all)
	for i := range min(gpStarts, len(all)) {
		all[i] = a.climb(all[i])
	}
	return ranked(all)
}

// add values the place if it satisfies the constraints. Places that they reject are not replaced by
// others: the candidates are fewer then.
func (a *acquisition) add(list []scored, u []float64) []scored {
	if s, ok := a.value(u); ok {
		return append(list, s)
	}
	return list
}

// value is the logarithm of the expected improvement at u; false if the constraints reject the
// point. The place returned is that of the point, rounded as its values are. Coordinates of
// parameters that do not exist there stay as in u: a later step may make them exist.
func (a *acquisition) value(u []float64) (scored, bool) {
	point := a.problem.Space.At(u)
	if !a.problem.Space.Satisfies(point) {
		return scored{}, false
	}
	at, exists := a.problem.Space.Units(point)
	mean, deviation := a.model.at(sample{u: at, exists: exists})
	for i := range at {
		if !exists[i] {
			at[i] = u[i]
		}
	}
	return scored{point, point.String(), at, logImprovement((a.best-mean)/deviation) + math.Log(deviation)}, true
}

// near moves some coordinates by about width of the range; others it draws anew. u is not changed.
// A number with few values also steps to a neighbour, which a small width would never reach.
func (a *acquisition) near(u []float64, width float64) []float64 {
	v := slices.Clone(u)
	params := a.problem.Space.Parameters()
	for i, param := range params {
		switch {
		case a.rng.Float64() < .3:
		case !param.Numeric():
			if a.rng.Float64() < .2 {
				v[i] = a.rng.Float64()
			}
		default:
			v[i] = min(max(v[i]+width*a.rng.NormFloat64(), 0), 1)
			if param.Count() < 20 && a.rng.Float64() < .3 {
				v[i] += math.Copysign(1/param.Count(), a.rng.Float64()-.5)
				v[i] = min(max(v[i], 0), 1)
			}
		}
	}
	return v
}

// climb is a local search with steps that become smaller where they do not help. climb returns a
// place at least as good as s, after gpSteps tries. It needs no gradient, which choices and steps
// do not have.
func (a *acquisition) climb(s scored) scored {
	width := .1
	for range gpSteps {
		next, ok := a.value(a.near(s.u, width))
		if ok && next.value > s.value {
			s, width = next, min(width*1.5, .3)
		} else {
			width = max(width*.9, .003)
		}
	}
	return s
}

// logImprovement is the logarithm of z Phi(z) + phi(z), without underflow (Ament et al., Unexpected
// Improvements to Expected Improvement, NeurIPS 2023). Far from the best trial the improvement
// itself is 0 in a float64, and all places would be equal.
func logImprovement(z float64) float64 {
	if z > -5 {
		return math.Log(z*phi(z) + math.Exp(-z*z/2)/math.Sqrt(2*math.Pi))
	}
	return -z*z/2 - .5*math.Log(2*math.Pi) - 2*math.Log(-z) + math.Log1p(-3/(z*z)+15/(z*z*z*z))
}

// standard makes ascending costs have mean 0 and variance 1. A cost that lacks more to the best than
// four times what the median lacks is clipped: a diverged training would otherwise decide the scale.
func standard(costs []float64) []float64 {
	n := float64(len(costs))
	median := costs[len(costs)/2]
	// costs[0] is the best: costs are ascending.
	most := median + 4*(median-costs[0])
	sum, squares := 0., 0.
	out := make([]float64, len(costs))
	for i, c := range costs {
		out[i] = min(c, most)
		sum += out[i]
	}
	for _, c := range out {
		squares += (c - sum/n) * (c - sum/n)
	}
	for i := range out {
		out[i] = (out[i] - sum/n) / max(math.Sqrt(squares/n), math.SmallestNonzeroFloat32)
	}
	return out
}
