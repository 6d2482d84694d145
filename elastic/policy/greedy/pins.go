package greedy

import (
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"slices"
)

// shrinkToPins makes pinned jobs with more GPUs than their pin give the rest back: it is the
// user's order, so neither resize cost nor cooldown count.
func (r *round) shrinkToPins() {
	for i := range r.jobs {
		if j := &r.jobs[i]; j.Role == roles.Movable && j.Pin > 0 && j.Pin < j.Now {
			r.shrink(i, j.Pin)
		}
	}
}

// shrink plans a smaller size for a running job, if a split of it on its nodes exists. It changes
// base, so that the job does not count as one that gives GPUs back for another. Nothing changes if
// the sizes cannot be placed. Room for ordinary jobs is not asked for: giving GPUs back takes none
// of theirs.
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

// growToPins grows pinned jobs that have fewer GPUs than their pin to it, in order of arrival,
// as far as there are GPUs and no job waits to start there.
func (r *round) growToPins() {
	for i := range r.jobs {
		j := &r.jobs[i]
		if j.Role != roles.Movable || j.Pin <= j.Now || j.blocked != nil {
			continue
		}
		base := slices.Clone(r.base)
		base[i] = j.Pin
		if size, ok := r.fill(base, r.wants); ok {
			r.base, r.size = base, size
		}
	}
}
