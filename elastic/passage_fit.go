package elastic

import "github.com/sluice-hpc/sluice/nodes"

// fit sorts out the movers whose places do not fit beside each other: what all
// jobs are meant to have together never exceeds a node. Where it would, those who
// came last keep what they have; which may in turn leave no room for others.
func (c *crossing) fit() {
	final := append([]nodes.Node(nil), c.soon.Nodes...)
	for i := range c.movers {
		if m := &c.movers[i]; m.state != full {
			m.leave(final)
			m.arrive(final)
		}
	}
	takers := c.takers()
	for work := takers.nodes(); len(work) > 0; {
		node := work[len(work)-1]
		work = work[:len(work)-1]
		for k := len(takers.of(node)) - 1; k >= 0; k-- {
			m := &c.movers[takers.of(node)[k]]
			if m.state == full || !c.tooMuch(final[node], m, node) {
				continue
			}
			m.state = full
			m.withdraw(final)
			for _, s := range m.from { // its return may be too much there
				work = append(work, s.node)
			}
		}
	}
}

// tooMuch reports whether the node is over-full in something of which the mover
// takes more than it has there.
func (c *crossing) tooMuch(n nodes.Node, m *mover, node int) bool {
	if held(m.at, node) > held(m.from, node) {
		if n.Left(m.job.Spec.Type()) < 0 || (n.CPUs > 0 && n.CPUsUsed > n.CPUs) ||
			(n.MemoryMB > 0 && m.job.Spec.MemPerGPUMB > 0 && n.MemUsedMB > n.MemoryMB) {
			return true
		}
	}
	return n.Spanning > 1 && c.meets(m, node)
}

// meets reports whether the rule that jobs on several nodes share none concerns
// the mover on a node of its place.
func (c *crossing) meets(m *mover, node int) bool {
	return m.spans && !c.s.Limits.ShareNodes && held(m.at, node) > 0 && !(m.spanned && held(m.from, node) > 0)
}

// leave, arrive and withdraw book the mover's going on a view of the inventory.
func (m *mover) leave(view []nodes.Node)  { m.book(view, m.from, m.spanned, -1) }
func (m *mover) arrive(view []nodes.Node) { m.book(view, m.at, m.spans, 1) }
func (m *mover) withdraw(view []nodes.Node) {
	m.book(view, m.at, m.spans, -1)
	m.book(view, m.from, m.spanned, 1)
}

func (m *mover) book(view []nodes.Node, seats []seat, spans bool, sign int) {
	load := m.job.Load(nil)
	for _, s := range seats {
		n := &view[s.node]
		n.Book(load.Type, sign*s.gpus)
		n.CPUsUsed += sign * load.CPUs(s.gpus)
		n.MemUsedMB += int64(sign) * int64(s.gpus) * load.MemPerGPUMB
		if spans {
			n.Spanning += sign
		}
	}
}

// byNode lists, for each node, movers by their index, in order.
type byNode struct {
	first []int32 // of list, by node; one more at the end
	list  []int32
}

func (b byNode) of(node int) []int32 { return b.list[b.first[node]:b.first[node+1]] }

// nodes lists the nodes that have any.
func (b byNode) nodes() []int {
	var out []int
	for n := range len(b.first) - 1 {
		if b.first[n] < b.first[n+1] {
			out = append(out, n)
		}
	}
	return out
}

// takers lists who is meant to be on each node.
func (c *crossing) takers() byNode {
	b := byNode{first: make([]int32, len(c.soon.Nodes)+1)}
	each := func(do func(node, mover int)) {
		for i := range c.movers {
			if c.movers[i].state != full {
				for _, s := range c.movers[i].at {
					do(s.node, i)
				}
			}
		}
	}
	each(func(node, _ int) { b.first[node+1]++ })
	for n := range len(c.soon.Nodes) {
		b.first[n+1] += b.first[n]
	}
	b.list = make([]int32, b.first[len(c.soon.Nodes)])
	next := append([]int32(nil), b.first...)
	each(func(node, mover int) {
		b.list[next[node]] = int32(mover)
		next[node]++
	})
	return b
}
