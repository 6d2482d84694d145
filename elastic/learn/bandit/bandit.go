package bandit

import "math"

// Arm is one pair.
type Arm struct {
	Count int     // observations
	Mean  float64 // of them; 0 before the first
}

// Observe takes in one observation.
func (a *Arm) Observe(x float64) {
	a.Count++
	a.Mean += (x - a.Mean) / float64(a.Count)
}

// Optimistic is the mean and the bonus after so many observations of all pairs.
func (a Arm) Optimistic(scatter float64, all int) float64 {
	return a.Mean + Bonus(scatter, a.Count, all)
}

// The finite law of the iterated logarithm holds but for a chance of about confidence.
const (
	epsilon    = 0.01
	confidence = 0.1
)

// Bonus is by how much the mean of count observations may be below the truth, each
// being off by scatter (a standard deviation; half the range where that is all that is
// known): the bound of the finite law of the iterated logarithm, (1+sqrt(e)) *
// sqrt(2 s^2 (1+e) ln(ln((1+e) t)/d) / n) (Jamieson, Malloy, Nowak & Bubeck, lil' UCB,
// COLT 2014, lemma 3). Its numerator grows with the number t of all observations, so
// that what was tried little is tried again, ever more rarely. A pair that was never
// tried has the bonus of one tried once.
func Bonus(scatter float64, count, all int) float64 {
	t := math.Max(math.E, (1+epsilon)*float64(max(count, all)))
	n := float64(max(1, count))
	return (1 + math.Sqrt(epsilon)) * scatter * math.Sqrt(2*(1+epsilon)*math.Log(math.Log(t)/confidence)/n)
}
