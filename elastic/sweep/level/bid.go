package level

// Progress is what a bid is made from.
type Progress struct {
	Trials  int     // trials that ended or were paused by a rule
	Seconds float64 // GPU-seconds that all trials used so far
	Assumed float64 // GPU-seconds of one trial where none has ended, by the user's or the site's guess
}

// Bid is the expected number of new best results per GPU-second: of n results without an order,
// the next one is a new best with probability 1/(n+1) (Renyi, 1962), and it takes as long as the
// trials before it did. It has no unit of the metric, so any two sweeps can be compared. The
// records of a search by a model are more frequent; this is then a bound from below.
func Bid(p Progress) float64 {
	cost := p.Assumed
	if p.Trials > 0 && p.Seconds > 0 {
		cost = p.Seconds / float64(p.Trials)
	}
	if cost <= 0 {
		cost = 1
	}
	return 1 / (float64(p.Trials) + 1) / cost
}
