package predict

import "math"

// Form is a way to predict configurations that were not measured.
// A form MUST be deterministic: the same observations in the same order give the same predictor.
type Form struct {
	Name string
	// Fit learns from observations, which MUST have passed Check.
	Fit func([]Observation) (Predictor, error)
}

// Predictor returns the seconds of a valid configuration: above 0 and finite.
// It MUST be safe for concurrent use, and MUST NOT change or keep the configuration.
type Predictor func(Configuration) float64

// least is the shortest time that is returned, in seconds; its inverse is the longest.
const least = 1e-12

// bounded limits a predictor's result to the range from least to 1/least.
// NaN, which a configuration that is not valid may give, becomes the longest time.
func bounded(p Predictor) Predictor {
	return func(c Configuration) float64 {
		seconds := p(c)
		if math.IsNaN(seconds) {
			return 1 / least
		}
		return min(max(seconds, least), 1/least)
	}
}
