package workload

import (
	"math"
	"slices"
	"time"
)

// Figures are a history's or a replay's times in short.
type Figures struct {
	MeanJCT, MedianJCT, P99JCT, LongestJCT time.Duration
	MeanWait, MaxWait                      time.Duration
	GPUHours                               float64       // of running jobs
	Span                                   time.Duration // first submit to last end
}

// Figures sums up what really happened.
func (h History) Figures() Figures {
	jct, wait := make([]time.Duration, len(h.Runs)), make([]time.Duration, len(h.Runs))
	hours, last := 0.0, time.Duration(0)
	for i, r := range h.Runs {
		jct[i], wait[i] = r.JCT(), r.Wait()
		hours += float64(r.GPUs) * r.Took.Hours()
		last = max(last, r.End)
	}
	f := FiguresOf(jct, wait)
	f.GPUHours, f.Span = hours, last
	return f
}

// FiguresOf sums up the times of jobs; the slices may be reordered. Percentiles
// are by nearest rank. GPUHours and Span stay zero.
func FiguresOf(jct, wait []time.Duration) Figures {
	if len(jct) == 0 {
		return Figures{}
	}
	slices.Sort(jct)
	return Figures{
		MeanJCT: average(jct), MedianJCT: rank(jct, 50), P99JCT: rank(jct, 99), LongestJCT: jct[len(jct)-1],
		MeanWait: average(wait), MaxWait: slices.Max(wait),
	}
}

func average(d []time.Duration) time.Duration {
	sum := 0.0
	for _, v := range d {
		sum += v.Seconds()
	}
	return time.Duration(math.Round(sum / float64(len(d)) * float64(time.Second)))
}

// rank is the p-th percentile by nearest rank of sorted values.
func rank(sorted []time.Duration, p int) time.Duration {
	return sorted[(len(sorted)*p+99)/100-1]
}
