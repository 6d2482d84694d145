package search

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/sluice-hpc/sluice/elastic/sweep/space"
)

// startup is how many points a model is not asked for: they are a Sobol sequence. A model of fewer
// points would follow their accidents. Tries count.
const startup = 10

// mostCost bounds what models compute with: its square is still a number.
const mostCost = 1e100

// sample is one point as models see it. u and exists have one element for each parameter of the
// space, in its order.
type sample struct {
	u      []float64 // coordinates in the unit cube
	exists []bool
	cost   float64 // small is good; of pending and failed trials unset
	state  State
}

// samples are all points tried, for a model. The cost of a trial is its metric at its last epoch:
// for a paused one a bound, since trials get better. One sample for each group, in order. Costs are
// limited to mostCost on both sides, so that a metric of 1e300 cannot make a model's sums infinite.
func (p Problem) samples(groups []group) []sample {
	var list []sample
	for _, g := range groups {
		u, exists := p.Space.Units(g.point)
		s := sample{u: u, exists: exists, state: g.state}
		if (s.state == Done || s.state == Paused) && len(g.curve) == 0 {
			s.state = Failed
		}
		if s.state == Done || s.state == Paused {
			s.cost = min(max(p.cost(g.curve[len(g.curve)-1].Value), -mostCost), mostCost)
		}
		list = append(list, s)
	}
	return list
}

// judged are the samples with a cost, the best first.
func judgedOf(list []sample) []sample {
	var out []sample
	for _, s := range list {
		if s.state == Done || s.state == Paused {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b sample) int { return cmp.Compare(a.cost, b.cost) })
	return out
}

// modelled asks the model of p.Method once enough trials have a metric; before that, and if the
// model has nothing new, it is a Sobol sequence. The candidates are in order of preference, and the
// first that was not tried is taken: a model that prefers a point which was tried already would
// else suggest it for ever.
func (p Problem) modelled(groups []group) (space.Point, error) {
	list := p.samples(groups)
	judged := judgedOf(list)
	if len(groups) < startup || len(judged) < 2 {
		return p.sobol(groups)
	}
	tried := triedIn(groups)
	rng := p.random(len(groups), p.Method)
	var candidates []space.Point
	if p.Method == "tpe" {
		candidates = p.parzen(list, judged, rng)
	} else {
		candidates = p.gaussian(list, judged, rng)
	}
	for _, point := range candidates {
		if !tried[point.String()] {
			return point, nil
		}
	}
	return p.sobol(groups)
}

// valid draws up to n different points that satisfy the constraints from draw. It gives up after 20
// draws for each point wanted; fewer points, also none, are no error.
func (p Problem) valid(n int, draw func() []float64) []space.Point {
	var list []space.Point
	seen := map[string]bool{}
	// Only points are compared: places of one value are one candidate.
	for range 20 * n {
		if len(list) == n {
			break
		}
		point := p.Space.At(draw())
		if text := point.String(); !seen[text] && p.Space.Satisfies(point) {
			seen[text] = true
			list = append(list, point)
		}
	}
	return list
}

// uniform is a random place of the unit cube.
func uniform(d int, rng *rand.Rand) []float64 {
	u := make([]float64, d)
	for i := range u {
		u[i] = rng.Float64()
	}
	return u
}

// scored is a candidate; a higher value is better. u is the place that led to the point; only gp
// needs it, to go on from there.
type scored struct {
	point space.Point
	text  string
	u     []float64
	value float64
}

// ranked lists candidates by value, the highest first, equal ones by text.
func ranked(list []scored) []space.Point {
	rank(list)
	points := make([]space.Point, len(list))
	for i, s := range list {
		points[i] = s.point
	}
	return points
}

// rank sorts by value, the highest first. Equal values are ordered by text, so that the order never
// depends on how the candidates were found.
func rank(list []scored) {
	slices.SortFunc(list, func(x, y scored) int {
		return cmp.Or(cmp.Compare(y.value, x.value), cmp.Compare(x.text, y.text))
	})
}
