package deadline

import "slices"

// Job is one job as the plan sees it.
type Job struct {
	Sizes []int     // GPUs it can run on, ascending, each above 0
	Rate  []float64 // units of work a second on each of Sizes, above 0
	Work  float64   // units left, above 0
	Due   float64   // when it is to have ended; +Inf = it does not matter when
	Now   int       // GPUs it has
	// Price is how long the job does nothing at every change of its size, a start
	// among them.
	Price float64
	// Promised: the job was told that it will end in time.
	Promised bool
	// Turned: it was not promised its deadline, and is not again considered for it.
	Turned bool
	// Waits: without a promise it is given nothing.
	Waits bool
	// Queues: without a promise it gets its least before those behind it who queue.
	Queues bool
	// Settled: it has what it has until the next decision, and until Until.
	Settled bool
	Until   float64
	// Rests: it moved a moment ago, and keeps what it has until Until as far as no promise
	// that was given breaks by that.
	Rests bool
	// Proves is until when a job that waits has its smallest size at most if it starts at
	// once: it has not been seen to save. It is promised nothing unless it does start.
	Proves float64
	// Payback is how many times Price a growth has to save that no promise needs; 0 = none.
	Payback float64
	// Keeps: it has started, and may not be stopped. Stays: once started it may not be.
	Keeps, Stays bool
}

// rising leaves of the sizes those that are faster than every smaller one, and one that is
// settled: no share of a plan is larger than it need be.
func (j Job) rising() Job {
	sizes, rate := []int{}, []float64{}
	best := 0.0
	for i, n := range j.Sizes {
		if j.Rate[i] > best || j.Settled && n == j.Now {
			best = max(best, j.Rate[i])
			sizes, rate = append(sizes, n), append(rate, j.Rate[i])
		}
	}
	j.Sizes, j.Rate = sizes, rate
	return j
}

// under is the largest size of up to n GPUs; -1 when there is none.
func (j *Job) under(n int) int {
	k, found := slices.BinarySearch(j.Sizes, n)
	if !found {
		k--
	}
	return k
}

// gpus is what the k-th size takes; -1 stands for no GPUs.
func (j *Job) gpus(k int) int {
	if k < 0 {
		return 0
	}
	return j.Sizes[k]
}

// rate is the speed on the k-th size.
func (j *Job) rate(k int) float64 {
	if k < 0 {
		return 0
	}
	return j.Rate[k]
}

// floor is the smallest index of a size the job may get.
func (j *Job) floor() int {
	if j.Keeps {
		return 0
	}
	return -1
}

// first is the smallest index of a size in a share of the job, as far as that is free.
func (j *Job) first() int {
	if j.Proves > 0 {
		return 0
	}
	return j.floor()
}

// stuck reports whether a stretch that begins then is one in which a settled job has what
// it has.
func (j *Job) stuck(i int, from float64) bool { return j.Settled && (i == 0 || from < j.Until) }

// pays reports whether growing to the k-th size saves enough to be done for its own sake.
func (j *Job) pays(k int) bool {
	at := j.under(j.Now)
	if j.Now == 0 || at < 0 || k <= at {
		return true
	}
	return j.Work/j.Rate[at]-j.Work/j.Rate[k] >= j.Payback*j.Price
}

// least is the fewest GPU-seconds the job can do its work in, as far as its smallest
// size is its most efficient.
func (j *Job) least() float64 { return j.Work / j.Rate[0] * float64(j.Sizes[0]) }

// aim is when the job is planned to end: some time before its deadline.
func (j *Job) aim() float64 { return j.Due - j.Price - margin*j.Due }

// rest is how long the job takes at most, once it has its least.
func (j *Job) rest() float64 { return j.Work / j.Rate[0] }
