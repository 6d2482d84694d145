package speed

import (
	"math"
	"slices"
)

const (
	// fewest is the number of samples of a shape from which on their scatter says
	// anything: one slow first epoch among them is none.
	fewest = 4
	// within is the share of samples whose distance from the median is looked at: of a
	// normal distribution that many are within one standard deviation, nearly, and of
	// claims that alternate it is one of the far ones.
	within = 0.7
)

// scatterOf is the relative standard deviation of the samples of one shape, beyond what
// is never taken for an outlier: 0 of samples that agree.
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

// Doubt returns by how much the time that is to be expected in a shape may be off, as a
// relative standard deviation: the more the further its number of GPUs is from one that was
// measured, and the more samples differ. It is 0 of a curve that is Known.
func (c *Curve) Doubt(s Shape) float64 {
	if c == nil || c.known != nil {
		return 0
	}
	return math.Hypot(c.doubt(s.possible()), c.Scatter())
}

// Scatter returns how far the samples of one shape differ among each other, as a
// relative standard deviation, where they differ most; 0 where they agree, where too
// few were seen to tell, and of a curve that is Known. It says how far the speed of a
// shape tried once may be off, and so how much better another must look to be worth a
// move.
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
