package level

// Progress is what a bid is made from.
type Progress struct {
	Trials  int     // trials that ended or were paused by a rule
	Seconds float64 // GPU-seconds that all trials used so far
	Assumed float64 // GPU-seconds of one trial where none has ended: measured epochs, or a guess; above 0
}

// doubt is b in the prior of Bid.
const doubt = 5

// Bid is what one more GPU-second is worth: the probability that the sweep has not found what it
// looks for and finds it with its next trial, over what a trial costs. Nobody knows what a user
// will be content with: it is taken to be the best part q of all points, with q from the
// distribution Beta(1, 5), whose mean is 1/6. Of n trials without an order none is that good with
// probability (1-q)^n, so the probability is the integral of q (1-q)^n over that prior,
// 5/((n+5)(n+6)). It has no unit of the metric, so any two sweeps can be compared.
//
// What a sweep's results say beyond their number was tried and left out: on testbench D the gap
// between the best two (the jackknife estimate of the next improvement), the mean gap of the best
// five and a surrogate's opinion tell a sweep that has found its goal from one that has not little
// better than chance (area under the curve .60, .41 and .65; .5 is chance).
func Bid(p Progress) float64 {
	n := float64(max(p.Trials, 0))
	return doubt / ((n + doubt) * (n + doubt + 1)) / cost(p)
}

// cost is the GPU-seconds of one trial: all that was spent by the number that ended, the maximum
// likelihood estimate for durations of which some are not over.
func cost(p Progress) float64 {
	switch {
	case p.Trials > 0 && p.Seconds > 0:
		return p.Seconds / float64(p.Trials)
	case p.Assumed > 0:
		return p.Assumed
	}
	return 1
}

// Improvement is the jackknife estimate of how much one more trial improves the best metric, in
// the metric's unit: the gap of the best two results over their number. It is for people: two
// sweeps with different metrics cannot be compared by it. max says that large metrics are good.
func Improvement(results []float64, max bool) float64 {
	if len(results) < 2 {
		return 0
	}
	first, second := results[0], results[1]
	better := func(a, b float64) bool { return a > b == max && a != b }
	if better(second, first) {
		first, second = second, first
	}
	for _, v := range results[2:] {
		switch {
		case better(v, first):
			first, second = v, first
		case better(v, second):
			second = v
		}
	}
	gap := first - second
	if gap < 0 {
		gap = -gap
	}
	return gap / float64(len(results))
}
