package policy

import "slices"

// release has pinned jobs that run on more than their pin give the rest back:
// an order of the user, so neither price nor cooldown count.
func (r *round) release() {
	for i := range r.jobs {
		if j := &r.jobs[i]; j.role == movable && j.pin > 0 && j.pin < j.now {
			r.shrink(i, j.pin)
		}
	}
}

// shrink plans a smaller size for a running job, if its nodes can give it.
func (r *round) shrink(i, n int) {
	if r.strands(&r.jobs[i]) {
		return
	}
	size := slices.Clone(r.base)
	size[i] = n
	if r.try(size, nil).ok() {
		r.base, r.size = size, slices.Clone(size)
	}
}

// enlarge moves pinned jobs that run on less than their pin up to it, in the
// order they came, as far as GPUs can be found and nobody waits to start there.
func (r *round) enlarge() {
	for i := range r.jobs {
		j := &r.jobs[i]
		if j.role != movable || j.pin <= j.now || j.blocked != nil {
			continue
		}
		base := slices.Clone(r.base)
		base[i] = j.pin
		if size, ok := r.fill(base, r.wants); ok {
			r.base, r.size = base, size
		}
	}
}
