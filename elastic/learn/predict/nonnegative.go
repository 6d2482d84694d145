package predict

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"
)

// errSingular: no coefficients fit; the ridge prevents it.
var errSingular = errors.New("the measurements do not distinguish the terms of the model")

// ridge prefers small coefficients for terms that were not observed, or only together; it is
// relative to each term's own size.
const ridge = 1e-6

// nonNegative returns the x >= 0 that minimizes |Ax-b|: the active set method of Lawson and
// Hanson (Solving Least Squares Problems, 1974, chapter 23) on the normal equations. The
// columns are normalized first.
func nonNegative(a *mat.Dense, b []float64) ([]float64, error) {
	_, n := a.Dims()
	length := make([]float64, n)
	scaled := mat.DenseCopyOf(a)
	for j := range n {
		if length[j] = mat.Norm(a.ColView(j), 2); length[j] == 0 {
			length[j] = 1
		}
	}
	scaled.Apply(func(_, j int, v float64) float64 { return v / length[j] }, scaled)
	q := &active{x: make([]float64, n), in: make([]bool, n)}
	q.gram.SymOuterK(1, scaled.T())
	for j := range n {
		q.gram.SetSym(j, j, q.gram.At(j, j)+ridge)
	}
	q.rhs.MulVec(scaled.T(), mat.NewVecDense(len(b), b))
	if err := q.solve(); err != nil {
		return nil, err
	}
	for j := range q.x {
		q.x[j] /= length[j]
	}
	return q.x, nil
}

// active is the state of the method: which terms may be above 0, and their values.
type active struct {
	gram mat.SymDense
	rhs  mat.VecDense
	x    []float64
	in   []bool
}

// solve adds terms one by one, the one with the steepest gradient first, and removes those that
// would become negative.
func (q *active) solve() error {
	for range 10 * len(q.x) { // each round lowers the error; the bound protects against rounding
		j := q.steepest()
		if j < 0 {
			return nil
		}
		q.in[j] = true
		if err := q.settle(j); err != nil {
			return err
		}
	}
	return nil
}

// steepest returns the excluded term whose increase lowers the error fastest; -1 if none does.
func (q *active) steepest() int {
	best, most := -1, 1e-10*mat.Norm(&q.rhs, math.Inf(1))
	for j := range q.x {
		if q.in[j] {
			continue
		}
		down := q.rhs.AtVec(j)
		for k, x := range q.x {
			down -= q.gram.At(j, k) * x
		}
		if down > most {
			best, most = j, down
		}
	}
	return best
}

// settle moves to the optimum of the included terms, and excludes those that reach 0 on the
// way.
// Each pass but the last excludes a term, so there is at most one pass more than terms.
func (q *active) settle(fresh int) error {
	for range len(q.x) + 1 {
		z, err := q.unbounded()
		if err != nil {
			return err
		}
		if z[fresh] <= 0 && q.x[fresh] == 0 { // from rounding only
			q.in[fresh] = false
			return nil
		}
		step, hit := 1.0, -1
		for j := range z {
			if q.in[j] && z[j] <= 0 {
				if s := q.x[j] / (q.x[j] - z[j]); s < step {
					step, hit = s, j
				}
			}
		}
		for j := range z {
			q.x[j] += step * (z[j] - q.x[j])
		}
		if hit < 0 {
			return nil
		}
		q.x[hit], q.in[hit] = 0, false
	}
	return nil
}

// unbounded returns the optimum of the included terms without regard to signs; 0 elsewhere.
func (q *active) unbounded() ([]float64, error) {
	var at []int
	for j, in := range q.in {
		if in {
			at = append(at, j)
		}
	}
	gram, rhs := mat.NewSymDense(len(at), nil), mat.NewVecDense(len(at), nil)
	for i, j := range at {
		rhs.SetVec(i, q.rhs.AtVec(j))
		for k := i; k < len(at); k++ {
			gram.SetSym(i, k, q.gram.At(j, at[k]))
		}
	}
	var factor mat.Cholesky
	var z mat.VecDense
	if !factor.Factorize(gram) || factor.SolveVecTo(&z, rhs) != nil && z.IsEmpty() {
		return nil, errSingular
	}
	out := make([]float64, len(q.x))
	for i, j := range at {
		out[j] = z.AtVec(i)
	}
	return out, nil
}
