package speed

import (
	"math"
	"slices"
)

const (
	// fewest is the number of samples of a shape from which on their scatter is used: with
	// fewer, one slow first epoch would dominate.
	fewest = 4
	// within is the quantile of the distances from the median that is used. In a normal
	// distribution nearly this share is within one standard deviation; of alternating claims it
	// is one of the far ones.
	within = 0.7
)

// scatterOf returns the relative standard deviation of the samples of one shape, beyond spread:
// 0 if the samples agree.
func scatterOf(samples []Sample) float64 {
	if len(samples) < fewest {
		return 0
	}
	logs := make([]float64, len(samples))
	for i, s := range samples {
		logs[i] = math.Log(s.Seconds)
	}
	middle := median(logs, nil)
	for i := range logs {
		logs[i] = math.Abs(logs[i] - middle)
	}
	slices.Sort(logs)
	return max(0, logs[int(within*float64(len(logs)))]-spread)
}

// Doubt returns the relative standard deviation of the expected time in a shape: larger the
// further its number of GPUs is from a measured one, and the more samples differ. It is 0 for a
// curve that is Known.
func (c *Curve) Doubt(s Shape) float64 {
	if c == nil || c.known != nil {
		return 0
	}
	return math.Hypot(c.doubt(s.possible()), c.Scatter())
}

// Scatter returns the largest relative standard deviation among the samples of one shape: 0 if
// they agree, if there are too few, and for a curve that is Known. It says how far off the time
// of a shape tried once may be, and so how much better another size must look to be worth a
// resize.
func (c *Curve) Scatter() float64 {
	if c == nil {
		return 0
	}
	most := 0.0
	for _, p := range c.measured {
		most = max(most, p.scatter)
	}
	return most
}
