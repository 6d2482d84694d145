package greedy

import (
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/nodes"
	"slices"
	"sort"
)

// startWaiting starts the waiting jobs at their minimum (pinned ones at their pin) in order of
// arrival, as far as there are GPUs. A job that finds none stops every later job that could use
// the same nodes: none overtakes.
//
// Each pass starts the longest prefix of the queue that fits, blocks what the next job waits for,
// and goes on with the jobs that can start elsewhere. So it ends after at most one pass per
// waiting job. base gets the minimums of the started jobs too, since later steps compute size from
// it.
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

// stop closes the nodes that the head of the queue waits for, and those that jobs wait for
// which can only run there. It returns the jobs that may still start elsewhere. queue MUST NOT be
// empty. All later jobs become late, so that try lets none of them start on a closed node
// (overtakes), whatever partition its other nodes are in.
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

// shutOut reports whether earlier jobs wait for every node that the job may use.
func (r *round) shutOut(j *job) bool {
	for i, in := range j.pool.usable {
		if in && (r.shut == nil || !r.shut[i]) {
			return false
		}
	}
	return true
}

// overtakes reports whether the job would start on nodes that earlier jobs wait for.
func (r *round) overtakes(j *job, place nodes.Placement) bool {
	for i, shut := range r.shut {
		if j.late && shut && place.On(r.snap.Nodes[i].Name) > 0 {
			return true
		}
	}
	return false
}

// queue lists the waiting jobs that could start on an empty cluster. The others wait for a
// change of the cluster, and no job waits for them.
func (r *round) queue() []int {
	var out []int
	for i := range r.jobs {
		if j := &r.jobs[i]; j.Role == roles.Waiting && j.pool.splits(j.Least()) {
			out = append(out, i)
		}
	}
	return out
}

// longest returns how many jobs of the queue, from its head, can be started, and the sizes that
// make it possible. It assumes that a prefix fits if a longer one does, and searches the length
// by bisection: a trial is expensive, since it arranges nodes. The sizes are nil if not even the
// first job can be started.
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
	return k, best // the search ends at its largest success
}

// block keeps what the waiting job may use from every later job. A job keeps the first job that
// blocked it, which is the one its reason names. Running jobs are blocked too: they do not grow.
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
