package predict

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

const (
	mostDescents = 300   // maximal number of steps of a search
	mostHalvings = 40    // maximal number of halvings of a step
	flat         = 1e-10 // smallest decrease of the cost for which a step is taken
)

// descend minimizes cost from a point by BFGS with step halving (Nocedal and Wright, Numerical
// Optimization, 2006, algorithm 6.1 and section 3.1). cost also returns its gradient.
// from is not changed. It returns the lowest point found, which need not be the minimum, and its cost.
// cost MUST NOT keep its argument.
func descend(from []float64, cost func([]float64) (float64, []float64)) ([]float64, float64) {
	n := len(from)
	x := mat.NewVecDense(n, append([]float64(nil), from...))
	at, slope := cost(x.RawVector().Data)
	bend := identity(n) // estimate of the inverse Hessian
	for range mostDescents {
		g := mat.NewVecDense(n, slope)
		var along mat.VecDense
		along.MulVec(bend, g)
		along.ScaleVec(-1, &along)
		if mat.Dot(&along, g) >= 0 { // rounding: restart
			bend = identity(n)
			along.ScaleVec(-1, g)
		}
		next, lower, nextSlope := halve(x, &along, at, mat.Dot(&along, g), cost)
		if next == nil {
			break
		}
		var moved, turned mat.VecDense
		moved.SubVec(next, x)
		turned.SubVec(mat.NewVecDense(n, nextSlope), g)
		update(bend, &moved, &turned)
		gain := at - lower
		x, at, slope = next, lower, nextSlope
		if gain < flat {
			break
		}
	}
	return x.RawVector().Data, at
}

// halve returns a point along the direction where the cost decreases enough (Armijo's
// condition); nil if there is none.
func halve(x, along *mat.VecDense, at, fall float64, cost func([]float64) (float64, []float64)) (*mat.VecDense, float64, []float64) {
	for step, tries := 1.0, 0; tries < mostHalvings; step, tries = step/2, tries+1 {
		var next mat.VecDense
		next.AddScaledVec(x, step, along)
		if lower, slope := cost(next.RawVector().Data); lower <= at+1e-4*step*fall && !math.IsNaN(lower) {
			return &next, lower, slope
		}
	}
	return nil, at, nil
}

// update is equation 6.17: the change of the gradient over a step gives the curvature.
// A step along which the gradient hardly changes is left out, so that bend stays positive definite.
func update(bend *mat.Dense, moved, turned *mat.VecDense) {
	curve := mat.Dot(moved, turned)
	if !(curve > 1e-12*mat.Norm(moved, 2)*mat.Norm(turned, 2)) {
		return
	}
	var seen mat.VecDense
	seen.MulVec(bend, turned)
	bend.RankOne(bend, (1+mat.Dot(turned, &seen)/curve)/curve, moved, moved)
	bend.RankOne(bend, -1/curve, &seen, moved)
	bend.RankOne(bend, -1/curve, moved, &seen)
}

func identity(n int) *mat.Dense {
	out := mat.NewDense(n, n, nil)
	for i := range n {
		out.Set(i, i, 1)
	}
	return out
}
