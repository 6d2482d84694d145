package elastic

import "github.com/sluice-hpc/sluice/nodes"

// sequence finds an order in which the movers can go one after the other, each to
// GPUs that nobody is on by then: nobody is stopped to wait for anybody. First
// those go who only give back, then the others as they came. Those who find no
// room wait at the node that lacks it for somebody to leave.
func (c *crossing) sequence() {
	waiting := map[int][]*mover{} // by node
	var ready []*mover
	for _, giving := range []bool{true, false} {
		for i := range c.movers {
			if m := &c.movers[i]; m.state == waits && m.gives() == giving {
				ready = append(ready, m)
			}
		}
	}
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
		if s.gpus > held(m.from, s.node) && m.job.request(c.s.Limits).Room(*n) < s.gpus {
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
	if c.s.Limits.AnySplit || m.to.Even() {
		return -1
	}
	free := make([]int, len(m.at))
	for i, s := range m.at {
		free[i] = c.soon.Nodes[s.node].Free()
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
		if m.state != waits || m.on < 0 || c.s.Limits.AnySplit || m.to.Even() {
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
