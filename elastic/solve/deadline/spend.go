package deadline

import (
	"container/heap"
	"slices"
)

const (
	// worthwhile is how long, in seconds, a change of size is assumed to last; its cost is
	// compared with what it saves in that time.
	worthwhile = 60.0
	// keeping is the factor by which another job has to use GPUs better than the job that has
	// them, to get them.
	keeping = 1.5
	// hopeless is the value of the work of a job that misses its deadline anyway: it gets what
	// no other job can use.
	hopeless = 1e-3
)

// serve gives the jobs that queue their minimum, in order of arrival, as far as that is free.
// The first one that does not fit reserves its GPUs. A job that would break an admission waits,
// and so do those behind it.
func (p *planning) serve() {
	p.left = p.free.free[0]
	for i := range p.jobs {
		j := &p.jobs[i]
		switch {
		case !j.Queues || j.Keeps || j.Settled || p.plan.Promised[i]:
		case p.left < j.Sizes[0]:
			p.left = 0
			return
		case !p.fits(j):
			return
		default:
			p.plan.GPUs[i] = j.Sizes[0]
			p.left -= j.Sizes[0]
			if j.Stays {
				p.free.take(j.Sizes[0], j.rest())
			}
		}
	}
}

// fits reports whether the job, once started at its minimum, breaks no admission for as long as
// it may not be stopped.
func (p *planning) fits(j *Job) bool {
	if !j.Stays {
		return true
	}
	for i := range p.free.until(j.rest()) {
		if p.free.free[i] < j.Sizes[0] {
			return false
		}
	}
	return true
}

// spend gives away what is free now, each time to where a GPU-second saves most of the
// GPU-seconds that would be used later.
// A raise for which there are too few GPUs left is replaced by the job's next best. One that would
// break the job's admission ends the raises of this job.
func (p *planning) spend() {
	p.next = p.free.after()
	left := p.left + p.postpone()
	p.plan.Least = slices.Clone(p.plan.GPUs)
	var raises raises
	for i := range p.jobs {
		if r, ok := p.raise(i, left); ok {
			raises = append(raises, r)
		}
	}
	heap.Init(&raises)
	for len(raises) > 0 {
		r := heap.Pop(&raises).(raise)
		if more := p.jobs[r.job].Sizes[r.to] - p.plan.GPUs[r.job]; more <= left {
			if !p.safe(r.job, r.to, p.jobs[r.job].Due) {
				continue
			}
			left -= more
			p.plan.GPUs[r.job] += more
		}
		if r, ok := p.raise(r.job, left); ok {
			heap.Push(&raises, r)
		}
	}
}

// raise is a job's best use of some more GPUs.
type raise struct {
	job, to int
	worth   float64 // GPU-seconds saved per GPU-second used
}

// raise returns the best larger size within the GPUs left; ok is false if there is none.
func (p *planning) raise(i, left int) (best raise, ok bool) {
	j, has := &p.jobs[i], p.plan.GPUs[i]
	if j.Settled || j.Waits && !p.plan.Promised[i] || j.Queues && has == 0 && !p.plan.Promised[i] {
		return raise{}, false
	}
	at := j.under(has)
	for k := at + 1; k < len(j.Sizes) && j.Sizes[k]-has <= left; k++ {
		if j.Proves > 0 && k > 0 {
			break
		}
		if !j.pays(k) {
			continue
		}
		gain := (j.Rate[k] - j.rate(at)) / float64(j.Sizes[k]-has)
		if j.Sizes[k] > j.Now {
			gain *= max(j.sooner(), 1-j.Price/worthwhile) / keeping
		}
		if worth := gain * p.unit(i, k); worth > best.worth {
			best, ok = raise{i, k, worth}, true
		}
	}
	return best, ok
}

// sooner is the part of the gain from GPUs that counts at least, whatever the cost of a change:
// a job without GPUs pays for its start now or later, so idle GPUs are of some use to it.
func (j *Job) sooner() float64 {
	if j.Now == 0 && j.Stays {
		return hopeless
	}
	return 0
}

// unit returns the value of a unit of the job's work, in GPU-seconds: what it is planned to
// cost, or costs at the smallest size.
func (p *planning) unit(i, k int) float64 {
	j := &p.jobs[i]
	least := float64(j.Sizes[0]) / j.Rate[0]
	switch need := j.need(); {
	case p.plan.Promised[i]:
		return p.now.cost(j, p.course[i]) / j.Work
	case need == len(j.Sizes) || j.Turned:
		return hopeless * least
	case k < need: // not enough to meet its deadline
		return least / 2
	}
	return least
}

// postpone keeps admitted jobs that are planned to get more as they are for this round, the
// latest deadline first, if they can wait and still meet it: otherwise two jobs would take
// turns with the same GPUs. What that leaves is given to where it saves most, which may be the
// same jobs. It returns the GPUs left.
func (p *planning) postpone() (left int) {
	lose := -p.left // GPUs that admitted jobs have and neither plan to keep nor can
	for i := range p.jobs {
		if p.plan.Promised[i] {
			lose += max(0, p.jobs[i].Now-p.plan.GPUs[i])
		}
	}
	for at := len(p.order) - 1; at >= 0 && left < lose; at-- {
		i := p.order[at]
		j := &p.jobs[i]
		k := j.under(j.Now)
		if more := p.plan.GPUs[i] - j.gpus(k); p.plan.Promised[i] && !j.Settled && k >= j.floor() && more > 0 && p.safe(i, k, j.aim()) {
			p.plan.GPUs[i] -= more
			left += more
		}
	}
	return left
}

// safe reports whether an admitted job could have the k-th size until the next decision, and
// only its share from then on, and still end by due.
// On true the job's course is replaced by that, unless its work is done by then.
func (p *planning) safe(i, k int, due float64) bool {
	if !p.plan.Promised[i] {
		return true
	}
	j, length := p.jobs[i], p.free.at[1]
	lost := 0.0
	if j.gpus(k) != j.Now {
		lost = min(j.Price, length)
	}
	j.Work -= (length - lost) * j.rate(k)
	j.Due = due - length
	j.Now = j.gpus(k)
	if j.Work <= 0 {
		return true
	}
	own := p.course[i][1:]
	for s, size := range own {
		p.next.free[s] += j.gpus(size)
	}
	c := p.next.share(&j)
	if c == nil {
		p.next.give(&j, own)
		return false
	}
	p.next.give(&j, c)
	p.course[i] = append(course{k}, c...)
	return true
}

// need returns the smallest size with which the job, alone, meets its deadline; the number of
// its sizes if there is none.
func (j *Job) need() int {
	for k, rate := range j.Rate {
		if j.Price+j.Work/rate <= j.Due {
			return k
		}
	}
	return len(j.Sizes)
}

// raises is a heap with the best raise on top; among equals the job that came first.
type raises []raise

// Len implements heap.Interface.
func (h raises) Len() int { return len(h) }

// Less implements heap.Interface.
func (h raises) Less(a, b int) bool {
	return h[a].worth > h[b].worth || h[a].worth == h[b].worth && h[a].job < h[b].job
}

// Swap implements heap.Interface.
func (h raises) Swap(a, b int) { h[a], h[b] = h[b], h[a] }

// Push implements heap.Interface.
func (h *raises) Push(x any) { *h = append(*h, x.(raise)) }

// Pop implements heap.Interface.
func (h *raises) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
