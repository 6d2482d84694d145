package search

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/sluice-hpc/sluice/elastic/sweep/space"
)

// layout says how points become coordinates of the kernel: one for a number, one for each choice. A
// parameter that a point does not have is in the middle. All coordinates of a choice share one
// length scale. Parameters with one value have none.
type layout struct {
	params []space.Parameter
	scale  []int // of each coordinate: which length scale
	scales int
}

// A parameter with one value has no coordinate: its length could not be learned.
func newLayout(params []space.Parameter) layout {
	l := layout{params: params}
	for _, p := range params {
		switch {
		case p.Count() == 1:
			continue
		case p.Numeric():
			l.scale = append(l.scale, l.scales)
		default:
			for range p.Choices {
				l.scale = append(l.scale, l.scales)
			}
		}
		l.scales++
	}
	return l
}

// A choice is sqrt(1/2) at its own coordinate and 0 at the others, so that any two choices have the
// distance 1, that of the two ends of a number's range. An absent one is 0 everywhere.
func (l layout) coordinates(s sample) []float64 {
	var x []float64
	for i, p := range l.params {
		switch n := len(p.Choices); {
		case p.Count() == 1:
		case p.Numeric() && s.exists[i]:
			x = append(x, s.u[i])
		case p.Numeric():
			x = append(x, .5)
		default:
			for k := range n {
				at := 0.
				if s.exists[i] && int(s.u[i]*float64(n)) == k {
					at = math.Sqrt2 / 2
				}
				x = append(x, at)
			}
		}
	}
	return x
}

// process is a Gaussian process with mean 0 and the kernel amplitude * (1 + r + r^2/3) exp(-r), r =
// sqrt(5) |(a-b)/length|: Matern 5/2 (Rasmussen and Williams, Gaussian Processes for Machine
// Learning, 2006, section 4.2). Its parts MUST be set in this order: layout, x, y and theta, THEN
// factorise, THEN ready, THEN at; after a change of theta all of them anew. x and y have the same
// length.
type process struct {
	layout layout
	x      [][]float64
	y      []float64
	theta  []float64 // logarithms: length scales, amplitude, noise
	chol   mat.Cholesky
	// For at, set by ready:
	inverse *mat.SymDense // K^-1
	scale   []float64     // 1/length^2 of each coordinate
	alpha   *mat.VecDense // K^-1 y
}

// ready prepares at, after factorise.
func (m *process) ready() {
	m.scale = m.inverseLengths()
	m.inverse = mat.NewSymDense(len(m.x), nil)
	if m.chol.InverseTo(m.inverse) != nil {
		m.inverse.Zero() // the deviation is then that without any trial
	}
}

// at is the mean and the standard deviation of the process at s, without noise. The deviation is
// above 0, so callers divide by it. O(n^2).
func (m *process) at(s sample) (mean, deviation float64) {
	x := m.layout.coordinates(s)
	n := len(m.x)
	amplitude := math.Exp(m.theta[m.layout.scales])
	k, w := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
	for i := range m.x {
		k.SetVec(i, amplitude*matern(distance(x, m.x[i], m.scale)))
	}
	w.MulVec(m.inverse, k)
	return mat.Dot(k, m.alpha), math.Sqrt(max(amplitude-mat.Dot(k, w), 1e-9*amplitude))
}

// inverseLengths has 1/length^2 of each coordinate.
func (m *process) inverseLengths() []float64 {
	out := make([]float64, len(m.layout.scale))
	for i, k := range m.layout.scale {
		out[i] = math.Exp(-2 * m.theta[k])
	}
	return out
}

// distance is r of the kernel: sqrt(5) times the distance in length scales. inverse is 1/length^2.
func distance(a, b, inverse []float64) float64 {
	sum := 0.
	for i := range a {
		d := a[i] - b[i]
		sum += d * d * inverse[i]
	}
	return math.Sqrt(5 * sum)
}

// matern is the kernel without its amplitude: 1 at r = 0, and falling.
func matern(r float64) float64 { return (1 + r + r*r/3) * math.Exp(-r) }

// factorise computes what at needs; false if the matrix is not positive definite. O(n^3 + n^2 d). A
// matrix is not positive definite where two points are nearly the same and the noise is small: the
// caller raises the noise and calls again.
func (m *process) factorise() bool {
	n := len(m.x)
	amplitude, noise := math.Exp(m.theta[m.layout.scales]), math.Exp(m.theta[m.layout.scales+1])
	inverse := m.inverseLengths()
	k := mat.NewSymDense(n, nil)
	for i := range n {
		k.SetSym(i, i, amplitude+noise)
		for j := i + 1; j < n; j++ {
			k.SetSym(i, j, amplitude*matern(distance(m.x[i], m.x[j], inverse)))
		}
	}
	if !m.chol.Factorize(k) {
		return false
	}
	m.alpha = mat.NewVecDense(n, nil)
	return m.chol.SolveVecTo(m.alpha, mat.NewVecDense(n, m.y)) == nil
}
