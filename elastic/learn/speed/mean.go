package speed

import (
	"cmp"
	"math"
	"slices"
	"time"
)

const (
	// halfLife is the age at which a sample weighs half as much as a new one.
	halfLife = 6 * time.Hour
	// oldest is the least weight of an old sample, relative to a new one: one new sample, which
	// may be the slow first epoch after a restart, does not outvote many old ones.
	oldest = 0.25
	// spread is the relative deviation up to which a sample is never an outlier.
	spread = 0.03
)

// robustMean returns the mean of those samples of one shape that agree with their median, and
// how many samples of equal weight they are worth. Of two that disagree the faster is used:
// first epochs are slow, none is too fast.
// There MUST be at least one sample, and all are of one shape and usable.
func robustMean(samples []Sample, now time.Time) (seconds, count float64) {
	values, weights := make([]float64, len(samples)), make([]float64, len(samples))
	for i, s := range samples {
		values[i], weights[i] = s.Seconds, s.Units
	}
	bound := 2 * median(weights, nil) // no sample outvotes the others by its length alone
	for i, s := range samples {
		weights[i] = min(s.Units/bound, 1) * recency(now.Sub(s.At))
	}
	middle := median(values, weights)
	away := make([]float64, len(values))
	for i, v := range values {
		away[i] = math.Abs(v - middle)
	}
	reach := 3 * max(1.4826*median(away, weights), spread*middle) // 1.4826: from MAD to standard deviation
	var sum, total, squares float64
	for i, v := range values {
		if away[i] <= reach {
			sum += weights[i] * v
			total += weights[i]
			squares += weights[i] * weights[i]
		}
	}
	return sum / total, total * total / squares
}

// recency returns the weight of a sample by its age, from oldest to 1.
func recency(age time.Duration) float64 {
	return max(oldest, math.Exp2(-max(0, age.Hours())/halfLife.Hours()))
}

// median returns the lower weighted median; nil weights are equal ones.
// There MUST be at least one value.
func median(values, weights []float64) float64 {
	order := make([]int, len(values))
	total := 0.0
	weight := func(i int) float64 {
		if weights == nil {
			return 1
		}
		return weights[i]
	}
	for i := range order {
		order[i] = i
		total += weight(i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	sum := 0.0
	for _, i := range order {
		if sum += weight(i); sum >= total/2 {
			return values[i]
		}
	}
	return values[order[len(order)-1]]
}
