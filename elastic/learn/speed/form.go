package speed

import "math"

// terms is the number of coefficients of the form.
const terms = 5

// form is the seconds per unit as a function of the shape, with nonnegative coefficients:
//
//	a/GPUs + b + c*(GPUs-1) + d*(nodes-1) + e*[nodes>1]
//
// a is work that divides over GPUs, b work that does not. c and d are the cost of one more GPU
// and of one more node. e is the cost of spanning nodes at all: the network's latency and
// bandwidth count once, and hardly grow with the nodes of a ring. With c, d or e above zero
// more GPUs may be slower.
type form [terms]float64

// prior is the form assumed if nothing is known, for a job that takes 1 on 1 GPU: 2% of the
// work does not divide, a second node costs 0.7% and each further one 0.2%.
var prior = form{0.98, 0.02, 0, 0.002, 0.005}

// leeway is how far real jobs are expected to be from the prior, as a standard deviation of
// each coefficient. It is small for c, which extrapolates worst.
var leeway = form{0.5, 0.2, 0.03, 0.05, 0.05}

const (
	noise  = 0.08 // relative standard deviation of one sample, assumed
	misfit = 0.04 // of the form itself, however many samples there are; residual has it
)

// row returns the terms of a shape, without coefficients.
func row(s Shape) form {
	g, n := float64(s.GPUs), float64(s.Nodes)
	return form{1 / g, 1, g - 1, n - 1, min(1, n-1)}
}

func (f form) seconds(s Shape) float64 {
	sum := 0.0
	for j, x := range row(s) {
		sum += f[j] * x
	}
	return sum
}

// fitForm returns the form for unmeasured shapes. It weighs the relative errors of the points
// against the distance from the prior, which is scaled to them: with few points it stays near
// the prior, with many it follows the data. Points of one number of GPUs alone only scale the prior.
func fitForm(points []point) (form, Source) {
	scale := priorScale(points)
	if points[0].GPUs == points[len(points)-1].GPUs {
		return prior.times(scale), Prior
	}
	q := newQuadratic()
	for _, p := range points {
		y := p.seconds / scale
		variance := y * y * (noise*noise/p.count + misfit*misfit)
		q.observe(row(p.Shape), y, 1/variance)
	}
	return q.minimum().times(scale), Fitted
}

// priorScale returns the seconds on 1 GPU at which the prior agrees best with the points: the
// weighted median of their estimates.
func priorScale(points []point) float64 {
	ratios, weights := make([]float64, len(points)), make([]float64, len(points))
	for i, p := range points {
		ratios[i], weights[i] = p.seconds/prior.seconds(p.Shape), p.count
	}
	return median(ratios, weights)
}

func (f form) times(x float64) form {
	for j := range f {
		f[j] *= x
	}
	return f
}

// quadratic is the cost of a form: half x'Ax - b'x, over forms without negative
// coefficients. It starts with the distance from the prior.
type quadratic struct {
	a [terms][terms]float64
	b form
}

func newQuadratic() *quadratic {
	q := &quadratic{}
	for j := range prior {
		w := 1 / (leeway[j] * leeway[j])
		q.a[j][j] = w
		q.b[j] = w * prior[j]
	}
	return q
}

// observe adds weight times the squared error of the form at one point.
func (q *quadratic) observe(x form, y, weight float64) {
	for j := range x {
		for k := range x {
			q.a[j][k] += weight * x[j] * x[k]
		}
		q.b[j] += weight * x[j] * y
	}
}

func (q *quadratic) cost(f form) float64 {
	sum := 0.0
	for j := range f {
		for k := range f {
			sum += 0.5 * f[j] * q.a[j][k] * f[k]
		}
		sum -= q.b[j] * f[j]
	}
	return sum
}

// minimum solves the nonnegative least squares exactly: with five terms, every set of terms
// that may be above zero is tried.
func (q *quadratic) minimum() form {
	best, least := prior, math.Inf(1)
	for set := 1; set < 1<<terms; set++ {
		f, ok := q.solve(set)
		if !ok {
			continue
		}
		if c := q.cost(f); c < least {
			best, least = f, c
		}
	}
	return best
}

// solve minimises over the terms in the set, the others being zero, by Gaussian
// elimination; ok is false when a term comes out negative. The distance from the
// prior keeps the matrix positive definite.
func (q *quadratic) solve(set int) (f form, ok bool) {
	a, b := q.a, q.b
	in := func(j int) bool { return set&(1<<j) != 0 }
	for j := range b {
		if !in(j) {
			continue
		}
		for k := j + 1; k < terms; k++ {
			if !in(k) {
				continue
			}
			ratio := a[k][j] / a[j][j]
			for l := j; l < terms; l++ {
				a[k][l] -= ratio * a[j][l]
			}
			b[k] -= ratio * b[j]
		}
	}
	for j := terms - 1; j >= 0; j-- {
		if !in(j) {
			continue
		}
		f[j] = b[j]
		for k := j + 1; k < terms; k++ {
			if in(k) {
				f[j] -= a[j][k] * f[k]
			}
		}
		f[j] /= a[j][j]
		if f[j] < 0 || math.IsNaN(f[j]) {
			return form{}, false
		}
	}
	return f, true
}
