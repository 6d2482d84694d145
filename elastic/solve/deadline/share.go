package deadline

import (
	"math"
	"slices"
)

// course is what a job gets over time: sizes (index into Job.Sizes, -1 = none) by interval of
// the future.
type course []int

// share returns the smallest share with which the job meets its deadline on what is free, and
// nil if there is none. A share is one size from some time on and the next smaller one before,
// each as far as it is free: the larger one as late as possible, so that GPUs of the near
// future stay free for later jobs.
//
// For example, a job can have 2 or 4 GPUs, and 2 are too slow: it gets 2 up to some time and 4 from
// then on, and that time is the latest one that is early enough. It is searched by halving.
func (f *future) share(j *Job) course {
	end := f.until(j.Due)
	if end == 0 {
		return nil
	}
	k, most := f.reach(j, end)
	for k <= most && f.work(j, k, 0, end) < j.Work {
		k++
	}
	if k > most {
		return nil
	}
	from, to := 0, end // the last interval from which on k is enough lies between
	for from < to {
		if middle := (from + to + 1) / 2; f.work(j, k, middle, end) >= j.Work {
			from = middle
		} else {
			to = middle - 1
		}
	}
	c := make(course, end)
	for i := range c {
		c[i] = f.size(j, i, f.wants(j, k, i, from))
	}
	if j.Proves > 0 && c[0] < 0 && !j.Promised {
		return nil
	}
	return c
}

// reach returns the smallest size with which the job meets its deadline if it has that all the
// time, and the largest size that is ever free for it: sizes outside need not be tried.
func (f *future) reach(j *Job, end int) (least, most int) {
	first := max(0, j.floor())
	if j.Settled { // it may do more in the first intervals than later
		return first, len(j.Sizes) - 1
	}
	least, _ = slices.BinarySearch(j.Rate, j.Work/j.Due)
	return max(least, first), max(j.under(slices.Max(f.free[:end])), first)
}

// soon returns a share with its largest size from the beginning on.
func (f *future) soon(c course, j *Job) course {
	if c == nil {
		return nil
	}
	k := slices.Max(c)
	for i := range c {
		c[i] = f.size(j, i, k)
	}
	return c
}

// wants returns the size of a share in an interval: k from the interval `from` on, and one less
// before.
func (f *future) wants(j *Job, k, i, from int) int {
	if i < from {
		return max(k-1, j.first())
	}
	return k
}

// size returns what is free of the k-th size; for a settled job at the beginning, what it has.
func (f *future) size(j *Job, i, k int) int {
	if j.stuck(i, f.at[i]) {
		return j.under(j.Now)
	}
	if j.Proves > f.at[i] {
		k = min(k, 0)
	}
	if k < 0 || f.free[i] >= j.Sizes[k] {
		return k
	}
	return max(j.floor(), j.under(f.free[i]))
}

// work returns how much the job does until it is due, with the share that is k from an interval
// on. Each change of size costs its price.
func (f *future) work(j *Job, k, from, end int) float64 {
	done, idle, now := 0.0, 0.0, j.Now
	for i := range end {
		size := f.size(j, i, f.wants(j, k, i, from))
		if n := j.gpus(size); n != now {
			now, idle = n, j.Price
		}
		if size < 0 {
			continue
		}
		length := min(f.at[i+1], j.Due) - f.at[i]
		lost := min(idle, length)
		idle -= lost
		done += (length - lost) * j.Rate[size]
	}
	return done
}

// soonest returns when the job could end if it took all that is free; +Inf if it cannot end
// within the future.
// A deadline does not matter to it.
func (f *future) soonest(j *Job) float64 {
	left, idle, now := j.Work, 0.0, j.Now
	for i := range f.free {
		size := f.size(j, i, len(j.Sizes)-1)
		if n := j.gpus(size); n != now {
			now, idle = n, j.Price
		}
		if size < 0 {
			continue
		}
		length := f.at[i+1] - f.at[i]
		lost := min(idle, length)
		idle -= lost
		if done := (length - lost) * j.Rate[size]; done < left {
			left -= done
			continue
		}
		return f.at[i] + lost + left/j.Rate[size]
	}
	return math.Inf(1)
}

// give reserves a course.
func (f *future) give(j *Job, c course) {
	for i, k := range c {
		f.free[i] -= j.gpus(k)
	}
}

// cost returns the GPU-seconds of a course.
func (f *future) cost(j *Job, c course) (sum float64) {
	for i, k := range c {
		sum += float64(j.gpus(k)) * (f.at[i+1] - f.at[i])
	}
	return sum
}
