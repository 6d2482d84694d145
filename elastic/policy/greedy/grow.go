package greedy

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/solve/knapsack"
)

// vain bounds how often in a row an expansion is solved again after its answer could not be
// placed. By then only fragments between the nodes' jobs are left.
const vain = 3

// growIdle gives idle GPUs to the jobs whose remaining time they shorten most, by the exact
// knapsack. Sizes without a split on the remaining nodes are removed, and the GPUs are offered
// again.
//
// A size without a place may get one once others have grown elsewhere. So after a growth the
// removed sizes are tried again, and the step ends when nothing grew since. Sizes only rise here,
// above base too.
func (r *round) growIdle() {
	struck := map[[2]int]bool{} // (job, size) without a place
	grown := false              // since the first of them was removed
	t := r.try(r.size, r.wants)
	r.spare = t.after
	for failures := 0; failures < vain; {
		next := r.solve(t, struck)
		if next == nil && !grown {
			return
		}
		if next == nil { // what had no place then may have one now
			clear(struck)
			grown = false
			continue
		}
		if next, settled := r.settle(next, t, struck); !slices.Equal(next, r.size) {
			r.size, t, grown, failures = next, settled, len(struck) > 0, 0
		} else {
			failures++
		}
	}
}

// solve returns larger sizes, or nil if no growth is worth it. Jobs that may use the same nodes
// share one knapsack. Each group's knapsack has the idle GPUs of its own nodes as its capacity. t
// MUST be the trial of r.size. r.size is not changed.
func (r *round) solve(t trial, struck map[[2]int]bool) []int {
	next, changed := slices.Clone(r.size), false
	for _, group := range r.groups(r.mayGrow) {
		var pools []*pool
		for _, i := range group {
			pools = append(pools, r.jobs[i].pool)
		}
		idle := union(pools).free(t.after)
		classes := make([][]step, len(group))
		for c, i := range group {
			classes[c] = r.growths(i, idle, t, struck)
		}
		choice, _ := r.solver.Expand(options(classes), idle)
		for c, o := range choice {
			if o != knapsack.None {
				next[group[c]], changed = classes[c][o].to, true
			}
		}
	}
	if !changed {
		return nil
	}
	return next
}

// groups partitions the jobs that may change into those that share nodes, directly or through
// others; each group in order of arrival. Groups share no node, so that each can be solved
// alone. It merges all groups that a job meets, one job at a time. A pool that meets two others
// joins them, although those two share no node. The cost is quadratic in the jobs that may change,
// times the nodes.
func (r *round) groups(may func(i int) bool) [][]int {
	var groups [][]int
	for i := range r.jobs {
		if !may(i) {
			continue
		}
		merged := []int{}
		rest := groups[:0:0]
		for _, g := range groups {
			if slices.ContainsFunc(g, func(k int) bool { return r.jobs[k].pool.meets(r.jobs[i].pool) }) {
				merged = append(merged, g...)
			} else {
				rest = append(rest, g)
			}
		}
		merged = append(merged, i)
		slices.Sort(merged)
		groups = append(rest, merged)
	}
	return groups
}

// mayGrow reports whether the job may get idle GPUs: it is being started, is being resized
// anyway, or may make a voluntary move.
func (r *round) mayGrow(i int) bool {
	j := &r.jobs[i]
	if j.blocked != nil || j.Pin > 0 || r.size[i] == 0 {
		return false
	}
	return j.Role == roles.Waiting || (j.Role == roles.Movable && (r.size[i] != j.Now || !r.snap.Resting(&j.Job)))
}

// growths lists the sizes above the planned one that are worth it: weight is the GPUs taken
// from the idle ones, value the seconds saved less the resize cost.
func (r *round) growths(i, idle int, t trial, struck map[[2]int]bool) []step {
	j, planned := &r.jobs[i], r.size[i]
	held := planned
	if planned == j.Now {
		held = j.pool.holds(r.snap.Nodes, j.At) // GPUs on unusable nodes are lost in a move
	}
	if held+idle <= planned {
		return nil
	}
	open := r.open(j, t.after, t.place[i])
	var steps []step
	best := 0.0
	for _, n := range j.sizes {
		if n <= planned || n-held > idle || struck[[2]int{i, n}] || !open.splits(n) {
			continue
		}
		// A larger size that saves no more is never chosen.
		if value, worth := r.gain(i, t, n, open.spread[n]); worth && value > best {
			best = value
			steps = append(steps, step{n, knapsack.Option{Weight: n - held, Value: value}})
		}
	}
	return steps
}

// gain returns the seconds saved, less the resize cost, if a job grows beyond the size planned
// in the trial, and whether that is worth it: a voluntary move has to pay, a job that starts or
// moves anyway only has to gain. across is the number of nodes at size n.
//
//	starts now              worth it if it saves any time
//	would keep its size     worth it if it pays (Limits.Payback), and no fewer GPUs were measured
//	                        to be faster
//	moves anyway            worth it if it saves any time; back at its present size it saves the
//	                        resize cost too
func (r *round) gain(i int, t trial, n, across int) (value float64, worth bool) {
	j, planned := &r.jobs[i], r.size[i]
	before, after := j.rest(planned, len(t.place[i])), j.rest(n, across)
	value = before - after
	if !j.HasGPUs() {
		return value, value > 0
	}
	if planned == j.Now {
		// A job that would be faster on fewer GPUs does not get more.
		return value - j.ResizeCost, j.pays(value, r.snap.Limits.Payback) && after < j.fastestBelow()
	}
	if n == j.Now { // it need not move after all
		value += j.ResizeCost
	}
	return value, value > 0
}

// settle lowers sizes until every one has a place that is worth the move, and removes those
// that had none. At the latest it ends at the sizes planned before. Jobs without a place are
// lowered first, then the largest growth, which may take the place of another job, and only what
// is placed is asked whether it still pays. Each pass lowers a size. next is changed; the trial
// returned is of the sizes returned.
func (r *round) settle(next []int, was trial, struck map[[2]int]bool) (sizes []int, t trial) {
	for !slices.Equal(next, r.size) {
		t = r.try(next, r.wants)
		lowered := false
		lower := func(i, limit int) {
			struck[[2]int{i, next[i]}] = true
			next[i] = r.below(i, min(limit, next[i]-1))
			lowered = true
		}
		for k, i := range t.short {
			if next[i] > r.size[i] {
				lower(i, t.got[k])
			}
		}
		if !lowered && !t.ok() {
			// The growth of one job uses the place of another that does not grow.
			if i := r.largestGrowth(next); i >= 0 {
				lower(i, next[i]-1)
			}
		}
		if !lowered { // on more nodes than assumed it may not be worth it
			for i := range next {
				if next[i] == r.size[i] {
					continue
				}
				if _, worth := r.gain(i, was, next[i], len(t.place[i])); !worth {
					lower(i, r.size[i])
				}
			}
		}
		if !lowered {
			return next, t
		}
	}
	return r.size, was
}

// largestGrowth returns the job that grows by most GPUs, the first of several; -1 if none
// grows.
func (r *round) largestGrowth(next []int) int {
	most := -1
	for i := range next {
		if more := next[i] - r.size[i]; more > 0 && (most < 0 || more > next[most]-r.size[most]) {
			most = i
		}
	}
	return most
}

// below returns the fastest accepted size up to limit, or the planned one if none is faster.
func (r *round) below(i, limit int) int {
	j, best := &r.jobs[i], r.size[i]
	for _, n := range j.sizes {
		if n > best && n <= limit && j.cost(n) < j.cost(best) {
			best = n
		}
	}
	return best
}
