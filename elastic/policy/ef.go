package policy

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
)

// ef is the baseline of all free GPUs to the job at the head of the queue, as
// many as it accepts; never resized. What ordinary jobs wait for is not free
// beyond the job's minimum.
func ef(s elastic.Snapshot) elastic.Allocation {
	r := newRound(s)
	r.freeze("ef")
	for _, i := range r.queue() {
		j := &r.jobs[i]
		j.late = r.shut != nil
		if !r.start(i) {
			r.block(j)
			continue
		}
		r.wants = nil
		r.yield()
		for _, n := range slices.Backward(j.sizes) {
			size := slices.Clone(r.size)
			size[i] = n
			if j.pin == 0 && j.blocked == nil && n > r.size[i] && r.try(size, r.wants).ok() {
				r.size, r.base = size, slices.Clone(size)
				break
			}
		}
	}
	return r.decide(r.explain)
}

// start plans the minimum for one waiting job when it is free.
func (r *round) start(i int) bool {
	size := slices.Clone(r.size)
	size[i] = r.jobs[i].least()
	if !r.try(size, nil).ok() {
		return false
	}
	r.size, r.base = size, slices.Clone(size)
	return true
}

// freeze keeps every running job as it is.
func (r *round) freeze(policy string) {
	for i := range r.jobs {
		if j := &r.jobs[i]; j.role == movable {
			j.role, j.still = fixed, "keeps "+gpus(j.now)+": the "+policy+" policy never resizes"
		}
	}
}
