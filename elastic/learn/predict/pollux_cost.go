package predict

import "math"

// cost returns what the fit minimizes, and its gradient.
// Observations without Compute count for the step only.
func (f *polluxFit) cost(p parameters) (cost float64, slope parameters) {
	var step, compute errorSum
	for _, o := range f.observations {
		w := o.weight()
		took, computed := p.predict(o.Configuration)
		c, s := computed, smallest
		at, times, waits := o.network()
		if waits {
			s = p[at] + p[at+1]*times
		}
		// The logarithm of the norm has the derivatives (c/T)^gamma / c with respect to c, and
		// likewise for s.
		byC, byS := math.Pow(c/took, p[gamma])/c, math.Pow(s/took, p[gamma])/s
		d := parameters{byC, byC * o.part()}
		if waits {
			d[at], d[at+1] = byS, byS*times
		}
		d[gamma] = (c*byC*math.Log(c/took) + s*byS*math.Log(s/took)) / p[gamma]
		step.add(math.Log(took/o.Seconds), w, d)
		if o.Compute > 0 {
			compute.add(math.Log(c/o.Compute), w, parameters{1 / c, o.part() / c})
		}
	}
	cost = step.root(&slope) + compute.root(&slope)
	return cost + p.reluctance(f.nodes, &slope), slope
}

// reluctance returns the authors' regularisation and adds its gradient.
func (p parameters) reluctance(nodes bool, slope *parameters) float64 {
	cost := 1e-3 * (p[gamma] - 1) * (p[gamma] - 1)
	slope[gamma] += 2e-3 * (p[gamma] - 1)
	for _, at := range []int{across, within} {
		if at == across && !nodes {
			continue // not observed: fitPollux sets both
		}
		ratio := p[at+1] / p[at]
		cost += 1e-2 * ratio * ratio
		slope[at+1] += 2e-2 * ratio / p[at]
		slope[at] -= 2e-2 * ratio * ratio / p[at]
	}
	return cost
}

// errorSum is a weighted sum of squared errors, and its gradient.
type errorSum struct {
	squares, weight float64
	slope           parameters
}

// add adds an error whose derivatives are by.
func (e *errorSum) add(off, weight float64, by parameters) {
	e.squares += weight * off * off
	e.weight += weight
	for i, d := range by {
		e.slope[i] += 2 * weight * off * d
	}
}

// root returns the root mean square and adds its gradient; 0 without observations.
func (e *errorSum) root(slope *parameters) float64 {
	if e.weight == 0 {
		return 0
	}
	root := math.Sqrt(e.squares/e.weight) + 1e-12 // never 0: the gradient is divided by it
	for i, d := range e.slope {
		slope[i] += d / e.weight / (2 * root)
	}
	return root
}
