package search

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Priors of the logarithms of length scale (of a unit range), amplitude and noise (of costs with
// variance 1): normal with these means and deviations. Without them a few trials would be
// explained by noise alone, or by one parameter.
const (
	lengthMean, lengthDeviation       = 0, .9
	amplitudeMean, amplitudeDeviation = 0, .7
	noiseMean, noiseDeviation         = -6, 1.2
	fitSteps                          = 40
)

// fit finds the length scales, the amplitude and the noise of highest posterior density: marginal
// likelihood (Rasmussen and Williams, equation 5.9) times priors, by resilient propagation
// (Riedmiller and Braun, 1993), which needs no line search and always ends. samples and y have the
// same length, at least 1, and y has about mean 0 and variance 1: the priors are made for that. The
// theta of the highest density met is taken, not the last one. Each of the fitSteps steps costs
// O(n^3).
func fit(l layout, samples []sample, y []float64) *process {
	m := &process{layout: l, y: y}
	for _, s := range samples {
		m.x = append(m.x, l.coordinates(s))
	}
	dims := l.scales + 2
	m.theta = make([]float64, dims)
	for i := range m.theta {
		m.theta[i], _ = prior(l, i)
	}
	// The same shift is in density, so the search begins at the mode of the priors.
	if l.scales > 0 { // more dimensions are farther apart
		for i := range l.scales {
			m.theta[i] += .5*math.Log(float64(l.scales)) - .5
		}
	}
	best, at := math.Inf(-1), append([]float64(nil), m.theta...)
	step, before := make([]float64, dims), make([]float64, dims)
	for i := range step {
		step[i] = .2
	}
	// Only signs of the gradient count: a step grows while they stay and halves where one turns.
	for range fitSteps {
		if !m.factorise() {
			m.theta[dims-1]++
			continue
		}
		density, gradient := m.density()
		if density > best {
			best = density
			copy(at, m.theta)
		}
		for i, g := range gradient {
			switch sign := g * before[i]; {
			case sign > 0:
				step[i] = min(step[i]*1.3, .6)
			case sign < 0:
				step[i] = max(step[i]*.5, 1e-3)
			}
			before[i] = g
			if g != 0 {
				m.theta[i] += math.Copysign(step[i], g)
			}
		}
	}
	copy(m.theta, at)
	for !m.factorise() {
		m.theta[dims-1]++ // more noise makes every matrix positive definite
	}
	m.ready()
	return m
}

// prior is that of theta[i]: length scales first, then the amplitude, then the noise.
func prior(l layout, i int) (mean, deviation float64) {
	switch i {
	case l.scales:
		return amplitudeMean, amplitudeDeviation
	case l.scales + 1:
		return noiseMean, noiseDeviation
	}
	return lengthMean, lengthDeviation
}

// density is the logarithm of the posterior density of theta, and its gradient. factorise MUST have
// been called with this theta. The gradient of the likelihood is 1/2 tr((alpha alpha' - K^-1)
// dK/dtheta) (equation 5.9). Of the kernel, with respect to the logarithm of a length, dk is
// amplitude * 5/3 (1+r) exp(-r) (d/length)^2. A constant is left out of the value.
func (m *process) density() (float64, []float64) {
	n, l := len(m.x), m.layout
	value := -.5*mat.Dot(mat.NewVecDense(n, m.y), m.alpha) - .5*m.chol.LogDet()
	gradient := make([]float64, len(m.theta))
	for i, t := range m.theta {
		mean, deviation := prior(l, i)
		if i < l.scales {
			mean += .5*math.Log(float64(l.scales)) - .5
		}
		z := (t - mean) / deviation
		value -= z * z / 2
		gradient[i] = -z / deviation
	}
	var inverse mat.SymDense
	if m.chol.InverseTo(&inverse) != nil {
		return math.Inf(-1), gradient
	}
	amplitude, noise := math.Exp(m.theta[l.scales]), math.Exp(m.theta[l.scales+1])
	scales := m.inverseLengths()
	for i := range n {
		ai := m.alpha.AtVec(i)
		own := .5 * (ai*ai - inverse.At(i, i))
		gradient[l.scales] += own * amplitude
		gradient[l.scales+1] += own * noise
		for j := i + 1; j < n; j++ {
			w := ai*m.alpha.AtVec(j) - inverse.At(i, j) // both triangles
			r := distance(m.x[i], m.x[j], scales)
			e := math.Exp(-r)
			gradient[l.scales] += w * amplitude * (1 + r + r*r/3) * e
			slope := w * amplitude * 5. / 3 * (1 + r) * e
			for c, k := range l.scale {
				d := m.x[i][c] - m.x[j][c]
				gradient[k] += slope * d * d * scales[c]
			}
		}
	}
	return value, gradient
}
