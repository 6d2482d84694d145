package bandit

import "math"

// Arm is the estimate for one pair.
type Arm struct {
	Count int     // number of observations
	Mean  float64 // mean of the observations; 0 before the first
}

// Observe adds one observation.
func (a *Arm) Observe(x float64) {
	a.Count++
	a.Mean += (x - a.Mean) / float64(a.Count)
}

// Optimistic returns the mean plus the bonus after all observations of all pairs.
func (a Arm) Optimistic(scatter float64, all int) float64 {
	return a.Mean + Bonus(scatter, a.Count, all)
}

// The bound holds except with a probability of about confidence.
const (
	epsilon    = 0.01
	confidence = 0.1
)

// Bonus returns by how much the mean of count observations may be below the truth, if each is
// off by scatter (a standard deviation, or half the range if only that is known). It is the
// bound of the finite law of the iterated logarithm, (1+sqrt(e)) * sqrt(2 s^2 (1+e) ln(ln((1+e)
// t)/d) / n) (Jamieson, Malloy, Nowak & Bubeck, lil' UCB, COLT 2014, lemma 3). Its numerator
// grows with the number t of all observations, so a pair with few observations is tried again,
// more and more rarely. A pair without observations has the bonus of one with a single
// observation.
func Bonus(scatter float64, count, all int) float64 {
	t := math.Max(math.E, (1+epsilon)*float64(max(count, all)))
	n := float64(max(1, count))
	return (1 + math.Sqrt(epsilon)) * scatter * math.Sqrt(2*(1+epsilon)*math.Log(math.Log(t)/confidence)/n)
}
