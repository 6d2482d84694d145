package plan

import (
	"slices"

	"github.com/sluice-hpc/sluice/nodes"
)

// sequence finds an order in which the moves can be made one after the other, each to GPUs that
// are free by then: no job is stopped to wait for another. First come the jobs that only give
// GPUs back, then those that start, then the others in the order of the snapshot. An early move
// may take what would have made others possible; so if some are left, two more orders are
// tried, and the one that leaves the fewest is taken.
//
// All orders are too many to try. A move that is still moveWaits then waits for another one that
// waits.
func (set *moveSet) sequence() {
	queue := set.queue()
	before := append([]nodes.Node(nil), set.soon.Nodes...)
	best, stuck := queue, len(queue)
	for try := 0; try < 3 && stuck > 0; try++ {
		if try > 0 {
			set.reset(queue, before)
			queue = reordered(queue, try == 2)
		}
		set.walk(queue)
		if left := len(queue) - len(set.order); left < stuck {
			best, stuck = queue, left
		}
	}
	if len(queue)-len(set.order) > stuck {
		set.reset(queue, before)
		set.walk(best)
	}
}

// queue lists the moves in the order that is tried first.
func (set *moveSet) queue() []*move {
	var rank [3][]*move
	for i := range set.moves {
		m := &set.moves[i]
		switch {
		case m.state != moveWaits:
		case m.onlyFrees():
			rank[0] = append(rank[0], m)
		case len(m.from) == 0:
			rank[1] = append(rank[1], m)
		default:
			rank[2] = append(rank[2], m)
		}
	}
	return slices.Concat(rank[0], rank[1], rank[2])
}

// reordered returns the queue in the order of the snapshot, or in the opposite one; jobs that
// only give GPUs back still come first.
func reordered(queue []*move, last bool) []*move {
	out := slices.Clone(queue)
	slices.SortStableFunc(out, func(a, b *move) int {
		switch {
		case a.onlyFrees() != b.onlyFrees() && a.onlyFrees():
			return -1
		case a.onlyFrees() != b.onlyFrees():
			return 1
		case last:
			return b.index - a.index
		}
		return a.index - b.index
	})
	return out
}

// reset undoes a walk.
// before is the view as it was when the walk began.
func (set *moveSet) reset(queue []*move, before []nodes.Node) {
	copy(set.soon.Nodes, before)
	for _, m := range queue {
		m.state, m.on = moveWaits, -1
	}
	set.order = nil
}

// walk makes the moves in this order. One that finds no room waits for another to leave the
// node that lacks it.
// A move is looked at again only when a job leaves the node that blocked it or, if it waits for its
// split, after a round in which something moved.
func (set *moveSet) walk(ready []*move) {
	waiting := map[int][]*move{} // by node
	for progress := true; progress; {
		progress = false
		for len(ready) > 0 {
			m := ready[0]
			ready = ready[1:]
			if m.on = set.blocked(m); m.on >= 0 {
				waiting[m.on] = append(waiting[m.on], m)
				continue
			}
			set.apply(m)
			progress = true
			for _, s := range m.from {
				ready = append(ready, waiting[s.node]...)
				delete(waiting, s.node)
			}
		}
		if progress {
			ready = set.waitingForSplit(waiting)
		}
	}
	if set.s.Limits.AtOnce() { // all at once: no job waits
		for i := range set.moves {
			if m := &set.moves[i]; m.state == moveWaits {
				set.apply(m)
			}
		}
	}
}

// onlyFrees reports whether the move takes no GPUs on any node.
// A job that comes to be on several nodes takes something even with fewer GPUs: others may not join
// it there.
func (m *move) onlyFrees() bool {
	for _, s := range m.at {
		if s.gpus > gpusOn(m.from, s.node) {
			return false
		}
	}
	return !m.spans || m.spanned
}

// blocked returns a node that lacks room for the move now; -1 if none does.
// The job's own GPUs count as free; the view is as before when it returns.
func (set *moveSet) blocked(m *move) int {
	view := set.soon.Nodes
	m.leave(view)
	defer m.book(view, m.from, m.spanned, 1)
	for _, s := range m.at {
		n := &view[s.node]
		if s.gpus > gpusOn(m.from, s.node) && m.job.Request(set.s.Limits).Room(*n) < s.gpus {
			return s.node
		}
		if n.Spanning > 0 && set.spanConflict(m, s.node) {
			return s.node
		}
	}
	return set.missplit(m)
}

// missplit returns the first node on which Slurm, which fills nodes greedily, would now give an
// uneven move another number of GPUs than intended; -1 if the split is as intended.
// For example, 4+2 was planned, and now 6 are free on the first node: Slurm would give 5+1.
func (set *moveSet) missplit(m *move) int {
	if set.s.Limits.AnySplit() || m.to.Even() {
		return -1
	}
	free := make([]int, len(m.at))
	for i, s := range m.at {
		free[i] = set.soon.Nodes[s.node].FreeOf(m.job.Spec.Type())
	}
	split := nodes.GreedySplit(free, m.to.GPUs())
	for i, s := range m.at {
		if split == nil || split[i] != s.gpus {
			return s.node
		}
	}
	return -1
}

// apply makes the move in the view and appends it to the order.
func (set *moveSet) apply(m *move) {
	m.leave(set.soon.Nodes)
	m.arrive(set.soon.Nodes)
	m.state = moveOrdered
	set.order = append(set.order, m)
}

// waitingForSplit removes from waiting the moves that wait for their split to be as intended: a
// job that arrives on the node may make it so, as well as one that leaves.
func (set *moveSet) waitingForSplit(waiting map[int][]*move) []*move {
	var out []*move
	for i := range set.moves {
		m := &set.moves[i]
		if m.state != moveWaits || m.on < 0 || set.s.Limits.AnySplit() || m.to.Even() {
			continue
		}
		out = append(out, m)
	}
	for _, m := range out {
		list := waiting[m.on][:0]
		for _, other := range waiting[m.on] {
			if other != m {
				list = append(list, other)
			}
		}
		waiting[m.on], m.on = list, -1
	}
	return out
}
