package share

// QOS is what a site says of the jobs of one of Slurm's QOS.
type QOS struct {
	// Weight is what they count among the jobs of the same user, relative to the others; 0 = 1.
	// It never takes GPUs from another user.
	Weight float64
	// Scavenger: they get only what no other job wants.
	Scavenger bool
	// Guarantee is how many GPUs they deserve together before the shares of accounts count, if
	// they want so many.
	Guarantee int
}

// weight returns the weight as the shares of a member.
func (q QOS) weight() float64 {
	if q.Weight == 0 {
		return 1
	}
	return max(leastShares, min(q.Weight, mostShares))
}
