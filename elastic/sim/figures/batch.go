package figures

// batch is what will come of several tasks.
type batch struct {
	b     *bench
	tasks []*task
}

// wait returns false when the bench has failed or was stopped.
func (x batch) wait() bool {
	for _, k := range x.tasks {
		select {
		case <-k.ready:
		case <-x.b.ctx.Done():
			return false
		}
	}
	return true
}

// means are averages over the trials of a batch, each trial counting once; longest
// is the longest wait to the first GPU there was in any.
type means struct {
	jct, p99, makespan float64 // seconds
	restarts           float64 // a job
	longest            float64 // seconds
}

// means waits for the trials; it is zero when the bench failed.
func (x batch) means() means {
	var m means
	if !x.wait() {
		return m
	}
	n := float64(len(x.tasks))
	for _, k := range x.tasks {
		m.jct += float64(k.sum.MeanJCT) / n
		m.p99 += float64(k.sum.P99JCT) / n
		m.makespan += float64(k.sum.Makespan) / n
		m.restarts += float64(k.sum.Restarts) / n
		m.longest = max(m.longest, float64(k.sum.MaxWait))
	}
	return m
}

// bound is the mean of the batch's bounds in seconds; 0 when the bench failed.
func (x batch) bound() float64 {
	sum := 0.0
	if !x.wait() {
		return 0
	}
	for _, k := range x.tasks {
		sum += k.bound.Seconds()
	}
	return sum / float64(len(x.tasks))
}

// mean is the arithmetic mean; 0 of none.
func mean(of []float64) float64 {
	sum := 0.0
	for _, v := range of {
		sum += v
	}
	return sum / float64(max(1, len(of)))
}
