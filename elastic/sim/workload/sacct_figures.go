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
	var f Figures
	jct := make([]time.Duration, 0, len(h.Runs))
	sum, waited := 0.0, 0.0
	for _, r := range h.Runs {
		jct = append(jct, r.JCT())
		sum += r.JCT().Seconds()
		waited += r.Wait().Seconds()
		f.MaxWait, f.Span = max(f.MaxWait, r.Wait()), max(f.Span, r.End)
		f.GPUHours += float64(r.GPUs) * r.Took.Hours()
	}
	if len(jct) == 0 {
		return f
	}
	slices.Sort(jct)
	n := float64(len(jct))
	f.MeanJCT, f.MeanWait = span(sum/n), span(waited/n)
	f.MedianJCT, f.P99JCT, f.LongestJCT = rank(jct, 50), rank(jct, 99), jct[len(jct)-1]
	return f
}

func span(seconds float64) time.Duration {
	return time.Duration(math.Round(seconds * float64(time.Second)))
}

// rank is the p-th percentile by nearest rank of sorted values.
func rank(sorted []time.Duration, p int) time.Duration {
	return sorted[(len(sorted)*p+99)/100-1]
}
