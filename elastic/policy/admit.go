package policy

import (
	"slices"
	"sort"
)

// admit starts the waiting jobs on their minimum (pinned ones on their pin) in
// the order they came, as far as GPUs can be found. A job that finds none stops
// everybody behind it who could use the same nodes: nobody overtakes.
func (r *round) admit() {
	queue := r.queue()
	for len(queue) > 0 {
		k, size := r.longest(queue)
		for _, i := range queue[:k] {
			r.base[i] = r.jobs[i].least()
		}
		if k > 0 {
			r.size = size
		}
		if k == len(queue) {
			break
		}
		head := &r.jobs[queue[k]]
		r.block(head)
		queue = slices.DeleteFunc(queue[k+1:], func(i int) bool { return r.jobs[i].blocked != nil })
	}
}

// queue lists the waiting jobs that could start on an empty cluster; the others
// wait for a different cluster, and nobody waits for them.
func (r *round) queue() []int {
	var out []int
	for i := range r.jobs {
		if j := &r.jobs[i]; j.role == waiting && j.pool.splits(j.least()) {
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
			size[i] = r.jobs[i].least()
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

// block keeps everybody who may use the head's nodes from getting more.
func (r *round) block(head *job) {
	for i := range r.jobs {
		if j := &r.jobs[i]; j.blocked == nil && j.pool.meets(head.pool) {
			j.blocked = head
		}
	}
}
