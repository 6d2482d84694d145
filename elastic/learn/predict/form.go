package predict

import "math"

// Form is a way to answer for configurations that nobody measured.
type Form struct {
	Name string
	// Fit learns from observations that Check let pass.
	Fit func([]Observation) (Predictor, error)
}

// Predictor returns the seconds of a configuration that is possible: above 0 and finite.
type Predictor func(Configuration) float64

// least is the shortest time, in seconds, that anything is taken to last; its inverse is
// the longest.
const least = 1e-12

// bounded keeps a predictor's answers above 0 and finite.
func bounded(p Predictor) Predictor {
	return func(c Configuration) float64 {
		seconds := p(c)
		if math.IsNaN(seconds) {
			return 1 / least
		}
		return min(max(seconds, least), 1/least)
	}
}
