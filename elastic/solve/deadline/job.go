package deadline

import "slices"

// Job is one job as the plan sees it.
// Sizes and Rate are equally long and have at least one entry. A job whose Due is now or past cannot
// be admitted, and one that was is no longer.
type Job struct {
	Sizes []int     // numbers of GPUs it can run on, ascending, each above 0
	Rate  []float64 // units of work per second on each of Sizes, above 0
	Work  float64   // units left, above 0
	Due   float64   // deadline; +Inf = none
	Now   int       // GPUs it has
	// Price is how long the job makes no progress at every change of its size, in seconds; a
	// start is one.
	Price float64
	// Promised: the job was admitted: told that it will meet its deadline.
	Promised bool
	// Turned: it was not admitted, and is not considered for admission again.
	Turned bool
	// Waits: unless it is admitted it gets nothing.
	Waits bool
	// Queues: unless it is admitted it gets its minimum before the jobs behind it that queue.
	Queues bool
	// Settled: it keeps what it has until the next decision, and until Until.
	Settled bool
	Until   float64
	// Rests: it moved lately, and keeps what it has until Until unless that would break an
	// earlier admission.
	Rests bool
	// Proves is until when a waiting job has at most its smallest size if it starts at once,
	// because it has not completed a checkpoint yet. It is admitted only if it does start.
	Proves float64
	// Payback is how many times Price a growth has to save if no admission needs it; 0 = none.
	Payback float64
	// Keeps: it has started, and may not be stopped. Stays: once started it may not be.
	Keeps, Stays bool
}

// rising keeps the sizes that are faster than every smaller one, and one that is settled: no
// share of a plan is larger than necessary.
// The smallest size always stays, and the caller's slices are not changed.
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

// under returns the index of the largest size up to n GPUs; -1 if there is none.
func (j *Job) under(n int) int {
	k, found := slices.BinarySearch(j.Sizes, n)
	if !found {
		k--
	}
	return k
}

// gpus returns the GPUs of the k-th size; -1 stands for no GPUs.
func (j *Job) gpus(k int) int {
	if k < 0 {
		return 0
	}
	return j.Sizes[k]
}

// rate returns the speed at the k-th size, in units per second.
func (j *Job) rate(k int) float64 {
	if k < 0 {
		return 0
	}
	return j.Rate[k]
}

// floor returns the smallest index of a size that the job may get.
func (j *Job) floor() int {
	if j.Keeps {
		return 0
	}
	return -1
}

// first returns the smallest index of a size in a share of the job, as far as that is free.
func (j *Job) first() int {
	if j.Proves > 0 {
		return 0
	}
	return j.floor()
}

// stuck reports whether a settled job keeps what it has in the interval that begins then.
func (j *Job) stuck(i int, from float64) bool { return j.Settled && (i == 0 || from < j.Until) }

// pays reports whether growing to the k-th size saves enough to be worth it by itself.
func (j *Job) pays(k int) bool {
	at := j.under(j.Now)
	if j.Now == 0 || at < 0 || k <= at {
		return true
	}
	return j.Work/j.Rate[at]-j.Work/j.Rate[k] >= j.Payback*j.Price
}

// least returns the fewest GPU-seconds for the job's work, assuming that its smallest size is
// its most efficient.
func (j *Job) least() float64 { return j.Work / j.Rate[0] * float64(j.Sizes[0]) }

// aim returns when the job is planned to end: some time before its deadline.
func (j *Job) aim() float64 { return j.Due - j.Price - margin*j.Due }

// rest returns how long the job takes at most once it has its minimum, in seconds.
func (j *Job) rest() float64 { return j.Work / j.Rate[0] }
