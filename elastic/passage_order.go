package elastic

import (
	"slices"

	"github.com/sluice-hpc/sluice/nodes"
)

// sequence finds an order in which the movers can go one after the other, each to
// GPUs that nobody is on by then: nobody is stopped to wait for anybody. First
// those go who only give back, then those who start, then the others as they came.
// Who goes early may take what would have let others go; so where some are stuck
// two more orders are tried, and the one that leaves fewest stuck stands.
func (c *crossing) sequence() {
	queue := c.queue()
	before := append([]nodes.Node(nil), c.soon.Nodes...)
	best, stuck := queue, len(queue)
	for try := 0; try < 3 && stuck > 0; try++ {
		if try > 0 {
			c.recall(queue, before)
			queue = reordered(queue, try == 2)
		}
		c.walk(queue)
		if left := len(queue) - len(c.order); left < stuck {
			best, stuck = queue, left
		}
	}
	if len(queue)-len(c.order) > stuck {
		c.recall(queue, before)
		c.walk(best)
	}
}

// queue lists who moves, in the order that is tried first.
func (c *crossing) queue() []*mover {
	var rank [3][]*mover
	for i := range c.movers {
		m := &c.movers[i]
		switch {
		case m.state != waits:
		case m.gives():
			rank[0] = append(rank[0], m)
		case len(m.from) == 0:
			rank[1] = append(rank[1], m)
		default:
			rank[2] = append(rank[2], m)
		}
	}
	return slices.Concat(rank[0], rank[1], rank[2])
}

// reordered is the queue as the jobs came, or the last first; those who only give
// back still lead.
func reordered(queue []*mover, last bool) []*mover {
	out := slices.Clone(queue)
	slices.SortStableFunc(out, func(a, b *mover) int {
		switch {
		case a.gives() != b.gives() && a.gives():
			return -1
		case a.gives() != b.gives():
			return 1
		case last:
			return b.index - a.index
		}
		return a.index - b.index
	})
	return out
}

// recall undoes a walk.
func (c *crossing) recall(queue []*mover, before []nodes.Node) {
	copy(c.soon.Nodes, before)
	for _, m := range queue {
		m.state, m.on = waits, -1
	}
	c.order = nil
}

// walk lets the movers go in the order given. Those who find no room wait at the
// node that lacks it for somebody to leave.
func (c *crossing) walk(ready []*mover) {
	waiting := map[int][]*mover{} // by node
	for progress := true; progress; {
		progress = false
		for len(ready) > 0 {
			m := ready[0]
			ready = ready[1:]
			if m.on = c.blocked(m); m.on >= 0 {
				waiting[m.on] = append(waiting[m.on], m)
				continue
			}
			c.depart(m)
			progress = true
			for _, s := range m.from {
				ready = append(ready, waiting[s.node]...)
				delete(waiting, s.node)
			}
		}
		if progress {
			ready = c.particular(waiting)
		}
	}
	if c.s.Limits.AtOnce() { // all at once: nobody waits
		for i := range c.movers {
			if m := &c.movers[i]; m.state == waits {
				c.depart(m)
			}
		}
	}
}

// gives reports whether the mover takes nothing anywhere.
func (m *mover) gives() bool {
	for _, s := range m.at {
		if s.gpus > held(m.from, s.node) {
			return false
		}
	}
	return !m.spans || m.spanned
}

// blocked returns the node that lacks room for the mover now; -1 when none does.
func (c *crossing) blocked(m *mover) int {
	view := c.soon.Nodes
	m.leave(view)
	defer m.book(view, m.from, m.spanned, 1)
	for _, s := range m.at {
		n := &view[s.node]
		if s.gpus > held(m.from, s.node) && m.job.Request(c.s.Limits).Room(*n) < s.gpus {
			return s.node
		}
		if n.Spanning > 0 && c.meets(m, s.node) {
			return s.node
		}
	}
	return c.missplit(m)
}

// missplit returns the first node on which Slurm, filling nodes greedily, would
// now give an uneven mover another number of GPUs than it is meant to have; -1
// when the split comes out as meant.
func (c *crossing) missplit(m *mover) int {
	if c.s.Limits.AnySplit() || m.to.Even() {
		return -1
	}
	free := make([]int, len(m.at))
	for i, s := range m.at {
		free[i] = c.soon.Nodes[s.node].FreeOf(m.job.Spec.Type())
	}
	split := nodes.GreedySplit(free, m.to.GPUs())
	for i, s := range m.at {
		if split == nil || split[i] != s.gpus {
			return s.node
		}
	}
	return -1
}

// depart lets the mover go.
func (c *crossing) depart(m *mover) {
	m.leave(c.soon.Nodes)
	m.arrive(c.soon.Nodes)
	m.state = went
	c.order = append(c.order, m)
}

// particular takes those out of the waiting who wait for a split to come out as
// meant, which somebody's coming may bring about as well as somebody's leaving.
func (c *crossing) particular(waiting map[int][]*mover) []*mover {
	var out []*mover
	for i := range c.movers {
		m := &c.movers[i]
		if m.state != waits || m.on < 0 || c.s.Limits.AnySplit() || m.to.Even() {
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
