package predict

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// LeastSquares models the seconds as a sum of nonnegative terms, with g GPUs on n nodes, m of
// them on the fullest, j other jobs beside, and p the part of the batch that a GPU works on:
//
//	a + b*p  for each GPU type
//	+ c*[g>1] + d*max(g-2, 0) + e*[n=1]max(g-2, 0) + f*[n>1] + h*[n>1](n-1) + i*[n>1](m-1) + k*j
//
// Computation takes a constant and grows with the batch. Communication costs a constant, more
// for every further GPU, and more of that where they share the links inside one node. It also
// costs for spanning nodes at all, for every further node, and for GPUs that share a node's
// network link. Relative errors are squared: a step of 1 s and one of 1 h count alike.
//
// While no job was measured on several nodes, d and e cannot be distinguished, and all is d:
// communication is assumed to grow beyond a node as it does within one, since a network is not
// faster than the links inside a node (the same prior as Pollux's).
var LeastSquares = Form{"least squares", fitLeastSquares}

// fitLeastSquares divides each row by the seconds observed, and asks for 1: that squares relative
// errors. A weight counts as its square root, because it is squared too.
func fitLeastSquares(observations []Observation) (Predictor, error) {
	t := termsFor(observations)
	rows := mat.NewDense(len(observations), t.count(), nil)
	ones := make([]float64, len(observations))
	for i, o := range observations {
		ones[i] = math.Sqrt(o.weight())
		for j, x := range t.of(o.Configuration) {
			rows.Set(i, j, ones[i]*x/o.Seconds)
		}
	}
	coefficients, err := nonNegative(rows, ones)
	if err != nil {
		return nil, err
	}
	return bounded(func(c Configuration) float64 {
		sum := 0.0
		for j, x := range t.of(c) {
			sum += coefficients[j] * x
		}
		return sum
	}), nil
}

// terms says which terms are used.
type terms struct {
	kinds   []string
	spanned bool // several nodes were observed
}

func termsFor(observations []Observation) terms {
	t := terms{kinds: kindsOf(observations)}
	for _, o := range observations {
		t.spanned = t.spanned || o.spans()
	}
	return t
}

func (t terms) count() int { return 7 + 2*len(t.kinds) }

// of returns the terms of a configuration, without coefficients.
// Their order is that of the coefficients.
func (t terms) of(c Configuration) []float64 {
	g, n := float64(c.GPUs()), float64(len(c.Split))
	crossing, further := when(n > 1), max(g-2, 0)
	out := []float64{
		when(g > 1), further, when(t.spanned && n == 1) * further,
		crossing, crossing * (n - 1), crossing * float64(c.fullest()-1), float64(c.Beside),
	}
	for k := range t.kinds {
		own := share(c, t.kinds, k)
		out = append(out, own, own*c.part())
	}
	return out
}

func when(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
