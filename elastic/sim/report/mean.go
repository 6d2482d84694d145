package report

// Mean returns one summary for several seeds of one policy on one workload: the
// mean of every figure, but the greatest of the longest waits and decisions. Of a figure that
// some seeds lack it is the mean of those that have it. It needs at least one
// summary; Seed is the first one's.
func Mean(of []Summary) Summary {
	m := of[0]
	n := float64(len(of))
	m.MeanJCT, m.P50JCT, m.P99JCT, m.Makespan, m.MeanWait = 0, 0, 0, 0, 0
	m.Restarts, m.Useful, m.Restarting, m.Idle, m.Fragmentation = 0, 0, 0, 0, 0
	jobs, rounds := 0, 0
	for _, s := range of {
		m.MeanJCT += s.MeanJCT / Seconds(n)
		m.P50JCT += s.P50JCT / Seconds(n)
		m.P99JCT += s.P99JCT / Seconds(n)
		m.Makespan += s.Makespan / Seconds(n)
		m.MeanWait += s.MeanWait / Seconds(n)
		m.MaxWait = max(m.MaxWait, s.MaxWait)
		m.Restarts += s.Restarts / Ratio(n)
		m.Useful += s.Useful / Hours(n)
		m.Restarting += s.Restarting / Hours(n)
		m.Idle += s.Idle / Hours(n)
		m.Fragmentation += s.Fragmentation / Ratio(n)
		jobs += s.Jobs
		rounds += s.Rounds
	}
	m.Jobs, m.Rounds = jobs/len(of), rounds/len(of)
	m.DeadlineMet = meanOf(of, func(s Summary) *Ratio { return s.DeadlineMet })
	m.DecisionP50 = meanOf(of, func(s Summary) *Millis { return s.DecisionP50 })
	m.DecisionP99 = meanOf(of, func(s Summary) *Millis { return s.DecisionP99 })
	m.DecisionMax = mostOf(of, func(s Summary) *Millis { return s.DecisionMax })
	m.Bound = meanOf(of, func(s Summary) *Seconds { return s.Bound })
	m.ToBound = meanOf(of, func(s Summary) *Ratio { return s.ToBound })
	return m
}

// meanOf is the mean of the figures there are; nil when there is none.
func meanOf[F ~float64](of []Summary, figure func(Summary) *F) *F {
	var sum F
	n := 0
	for _, s := range of {
		if f := figure(s); f != nil {
			sum += *f
			n++
		}
	}
	if n == 0 {
		return nil
	}
	sum /= F(n)
	return &sum
}

// mostOf is the greatest of the figures there are; nil when there is none.
func mostOf[F ~float64](of []Summary, figure func(Summary) *F) *F {
	var most *F
	for _, s := range of {
		if f := figure(s); f != nil && (most == nil || *f > *most) {
			most = f
		}
	}
	return most
}
