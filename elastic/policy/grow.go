package policy

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic/knapsack"
	"github.com/sluice-hpc/sluice/elastic/speed"
)

// attempts bounds how often an expansion is solved again because some size could
// not be placed. Each solution is good; a further one only fills gaps.
const attempts = 24

// relieve lets a job give back GPUs that make it slower, where both speeds were
// measured.
func (r *round) relieve() {
	for i := range r.jobs {
		j := &r.jobs[i]
		if r.size[i] != j.now || !r.free(j) || r.strands(j) {
			continue
		}
		best, most := j.now, 0.0
		for _, n := range j.sizes {
			if n >= j.now {
				break
			}
			if saved, worth := j.saves(n, r.snap.Limits.Payback); worth && saved > most && j.measured(n) {
				best, most = n, saved
			}
		}
		if best == j.now || !j.measured(j.now) {
			continue
		}
		r.size[i] = best
		if !r.try(r.size, r.wants).ok() {
			r.size[i] = j.now
		}
	}
}

func (j *job) measured(n int) bool {
	shape := speed.Shape{GPUs: n, Nodes: 1}
	if n == j.now {
		shape.Nodes = len(j.at)
	} else if j.pool.splits(n) {
		shape.Nodes = j.pool.spread[n]
	}
	_, src := j.Curve.Seconds(shape)
	return src == speed.Measured
}

// free reports whether a voluntary move of a running job is open to it.
func (r *round) free(j *job) bool {
	return j.role == movable && j.pin == 0 && !r.resting(j)
}

// resting reports whether the job moved too short a time ago.
func (r *round) resting(j *job) bool {
	return !j.Moved.IsZero() && r.snap.Now.Sub(j.Moved) < r.snap.Limits.Cooldown
}

// expand gives idle GPUs to the jobs whose rest they shorten most, by the exact
// knapsack. Sizes that turn out to have no split on the nodes left are struck
// out, and what they leave is given again.
func (r *round) expand() {
	struck := map[[2]int]bool{} // (job, size) without a place
	grown := false              // since the first of them was struck
	for range attempts {
		next := r.solve(struck)
		if next == nil && (len(struck) == 0 || !grown) {
			return
		}
		if next == nil { // what had no place then may have one now
			clear(struck)
			grown = false
			continue
		}
		if next = r.settle(next, struck); !slices.Equal(next, r.size) {
			r.size, grown = next, true
		}
	}
}

// solve returns larger sizes, or nil when no growth is worth it. Jobs that may
// use the same nodes share one knapsack.
func (r *round) solve(struck map[[2]int]bool) []int {
	after := r.try(r.size, r.wants).after
	next, changed := slices.Clone(r.size), false
	for _, group := range r.groups() {
		var pools []*pool
		for _, i := range group {
			pools = append(pools, r.jobs[i].pool)
		}
		idle := union(pools).free(after)
		classes := make([][]step, len(group))
		for c, i := range group {
			classes[c] = r.growths(i, idle, struck)
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

// groups parts the jobs that may grow into those that share nodes, directly or
// through others; each in the order they came.
func (r *round) groups() [][]int {
	var groups [][]int
	for i := range r.jobs {
		if !r.mayGrow(i) {
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

// mayGrow reports whether the job may get idle GPUs: it is being started, is
// being resized anyhow, or a voluntary move is open to it.
func (r *round) mayGrow(i int) bool {
	j := &r.jobs[i]
	if j.blocked != nil || j.pin > 0 || r.size[i] == 0 {
		return false
	}
	return j.role == waiting || (j.role == movable && (r.size[i] != j.now || !r.resting(j)))
}

// growths lists the sizes above the planned one that are worth it: weight is the
// GPUs taken from the idle ones, value the time saved less the price.
func (r *round) growths(i, idle int, struck map[[2]int]bool) []step {
	j, planned := &r.jobs[i], r.size[i]
	held := planned
	if planned == j.now {
		held = j.pool.holds(r.snap.Nodes, j.at) // GPUs on unusable nodes are lost in a move
	}
	var steps []step
	best := 0.0
	for _, n := range j.sizes {
		if n <= planned || struck[[2]int{i, n}] {
			continue
		}
		if n-held > idle {
			break
		}
		if planned == j.now && j.started() {
			if _, worth := j.saves(n, r.snap.Limits.Payback); !worth {
				continue
			}
		}
		// A larger size that saves no more is of no use to anybody.
		if value := j.cost(planned) - j.cost(n); value > best {
			best = value
			steps = append(steps, step{n, knapsack.Option{Weight: n - held, Value: value}})
		}
	}
	return steps
}

// settle lowers sizes until everything has its place, and strikes out those that
// had none. It ends at the sizes planned before at the latest.
func (r *round) settle(next []int, struck map[[2]int]bool) []int {
	for {
		t := r.try(next, r.wants)
		if t.ok() {
			return next
		}
		lowered := false
		for k, i := range t.short {
			if next[i] > r.size[i] {
				struck[[2]int{i, next[i]}] = true
				next[i] = r.below(i, min(t.got[k], next[i]-1))
				lowered = true
			}
		}
		if lowered {
			continue
		}
		// Somebody's growth takes the place of one who does not grow.
		most := -1
		for i := range next {
			if more := next[i] - r.size[i]; more > 0 && (most < 0 || more > next[most]-r.size[most]) {
				most = i
			}
		}
		if most < 0 {
			return slices.Clone(r.size)
		}
		struck[[2]int{most, next[most]}] = true
		next[most] = r.below(most, next[most]-1)
	}
}

// below returns the largest accepted size up to limit, not below the planned one.
func (r *round) below(i, limit int) int {
	best := r.size[i]
	for _, n := range r.jobs[i].sizes {
		if n <= limit {
			best = max(best, n)
		}
	}
	return best
}
