package network

import "math"

// Adam's constants, as recommended by its authors (Kingma and Ba, 2015, algorithm 1).
const (
	momentum = 0.9
	memory   = 0.999
	tiny     = 1e-8
)

// adam is the state of algorithm 1: decaying means of the gradient and of its square.
type adam struct {
	mean, square []float64
	steps        int
}

// newAdam returns the state before the first step.
func newAdam(parameters int) *adam {
	return &adam{mean: make([]float64, parameters), square: make([]float64, parameters)}
}

// step moves the parameters against the gradient.
// rate is the length of a step for a parameter whose derivative is always the same.
func (a *adam) step(parameters, slope []float64, rate float64) {
	a.steps++
	// Bias correction for means that began at 0, in the efficient form of section 2.
	rate *= math.Sqrt(1-math.Pow(memory, float64(a.steps))) / (1 - math.Pow(momentum, float64(a.steps)))
	for i, g := range slope {
		a.mean[i] = momentum*a.mean[i] + (1-momentum)*g
		a.square[i] = memory*a.square[i] + (1-memory)*g*g
		parameters[i] -= rate * a.mean[i] / (math.Sqrt(a.square[i]) + tiny)
	}
}
