package greedy

import (
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/nodes"
	"slices"
	"sort"
)

// startWaiting starts the waiting jobs on their minimum (pinned ones on their pin) in
// the order they came, as far as GPUs can be found. A job that finds none stops
// everybody behind it who could use the same nodes: nobody overtakes.
func (r *round) startWaiting() {
	queue := r.queue()
	for len(queue) > 0 {
		k, size := r.longest(queue)
		for _, i := range queue[:k] {
			r.base[i] = r.jobs[i].Least()
		}
		if k > 0 {
			r.size = size
		}
		if k == len(queue) {
			break
		}
		queue = r.stop(queue[k:])
	}
}

// stop shuts the nodes that the head of the queue waits for, and those that
// everybody waits for who can only run there, and returns who may still start
// elsewhere.
func (r *round) stop(queue []int) []int {
	r.block(&r.jobs[queue[0]])
	var rest []int
	for _, i := range queue[1:] {
		j := &r.jobs[i]
		j.late = true
		if r.shutOut(j) {
			r.block(j)
		} else {
			rest = append(rest, i)
		}
	}
	return rest
}

// shutOut reports whether earlier jobs wait for every node the job may use.
func (r *round) shutOut(j *job) bool {
	for i, in := range j.pool.usable {
		if in && (r.shut == nil || !r.shut[i]) {
			return false
		}
	}
	return true
}

// overtakes reports whether the job would start on nodes that jobs which came
// before it wait for.
func (r *round) overtakes(j *job, place nodes.Placement) bool {
	for i, shut := range r.shut {
		if j.late && shut && place.On(r.snap.Nodes[i].Name) > 0 {
			return true
		}
	}
	return false
}

// queue lists the waiting jobs that could start on an empty cluster; the others
// wait for a different cluster, and nobody waits for them.
func (r *round) queue() []int {
	var out []int
	for i := range r.jobs {
		if j := &r.jobs[i]; j.Role == roles.Waiting && j.pool.splits(j.Least()) {
			out = append(out, i)
		}
	}
	return out
}

// longest returns how many of the queue, from its head, can be started, and the
// sizes that make it possible.
func (r *round) longest(queue []int) (int, []int) {
	var best []int
	fits := func(k int) bool {
		size := slices.Clone(r.base)
		for _, i := range queue[:k] {
			size[i] = r.jobs[i].Least()
		}
		got, ok := r.fill(size, r.wants)
		if ok {
			best = got
		}
		return ok
	}
	if fits(len(queue)) {
		return len(queue), best
	}
	k := sort.Search(len(queue)-1, func(k int) bool { return !fits(k + 1) })
	return k, best // the search ends on its largest success
}

// block keeps what the waiting job may use from everybody who came later.
func (r *round) block(first *job) {
	if r.shut == nil {
		r.shut = make([]bool, len(r.snap.Nodes))
	}
	for i, in := range first.pool.usable {
		r.shut[i] = r.shut[i] || in
	}
	for i := range r.jobs {
		if j := &r.jobs[i]; j.blocked == nil && j.pool.meets(first.pool) {
			j.blocked = first
		}
	}
}
