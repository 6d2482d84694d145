package plan

import "github.com/sluice-hpc/sluice/nodes"

// fit marks the moves whose places do not fit beside each other as impossible: the targets of
// all jobs together never exceed a node. Where they would, the jobs that came last keep what
// they have, which may in turn leave no room for others.
//
// A node is examined again only when a withdrawn job falls back to it, and each job is withdrawn at
// most once, so this ends.
func (set *moveSet) fit() {
	final := append([]nodes.Node(nil), set.soon.Nodes...)
	for i := range set.moves {
		if m := &set.moves[i]; m.state != moveImpossible {
			m.leave(final)
			m.arrive(final)
		}
	}
	takers := set.takers()
	for work := takers.nodes(); len(work) > 0; {
		node := work[len(work)-1]
		work = work[:len(work)-1]
		for k := len(takers.of(node)) - 1; k >= 0; k-- {
			m := &set.moves[takers.of(node)[k]]
			if m.state == moveImpossible || !set.tooMuch(final[node], m, node) {
				continue
			}
			m.state = moveImpossible
			m.withdraw(final)
			for _, s := range m.from { // keeping it there may be too much
				work = append(work, s.node)
			}
		}
	}
}

// tooMuch reports whether the node is over-committed in a resource of which the move takes more
// than it has there.
// A move that takes nothing more there is not to blame for what is over-committed.
func (set *moveSet) tooMuch(n nodes.Node, m *move, node int) bool {
	if gpusOn(m.at, node) > gpusOn(m.from, node) {
		if n.Left(m.job.Spec.Type()) < 0 || (n.CPUs > 0 && n.CPUsUsed > n.CPUs) ||
			(n.MemoryMB > 0 && m.job.Spec.MemPerGPUMB > 0 && n.MemUsedMB > n.MemoryMB) {
			return true
		}
	}
	return n.Spanning > 1 && set.spanConflict(m, node)
}

// spanConflict reports whether the rule that jobs on several nodes share none of them applies
// to the move on a node of its place.
func (set *moveSet) spanConflict(m *move, node int) bool {
	return m.spans && !set.s.Limits.ShareNodes && gpusOn(m.at, node) > 0 && !(m.spanned && gpusOn(m.from, node) > 0)
}

// leave, arrive and withdraw book the move on a view of the inventory.
func (m *move) leave(view []nodes.Node)  { m.book(view, m.from, m.spanned, -1) }
func (m *move) arrive(view []nodes.Node) { m.book(view, m.at, m.spans, 1) }
func (m *move) withdraw(view []nodes.Node) {
	m.book(view, m.at, m.spans, -1)
	m.book(view, m.from, m.spanned, 1)
}

// book charges the shares to a view of the inventory; sign -1 frees them. CPUs and memory are
// charged by GPU, and each node of a job on several nodes counts one such job.
func (m *move) book(view []nodes.Node, shares []nodeShare, spans bool, sign int) {
	load := m.job.Load(nil)
	for _, s := range shares {
		n := &view[s.node]
		n.Book(load.Type, sign*s.gpus)
		n.CPUsUsed += sign * load.CPUs(s.gpus)
		n.MemUsedMB += int64(sign) * int64(s.gpus) * load.MemPerGPUMB
		if spans {
			n.Spanning += sign
		}
	}
}

// byNode lists, for each node, moves by their index, in order.
// It is one array with the start of each node's part, as sparse matrices are stored.
type byNode struct {
	first []int32 // start in list, by node; one more at the end
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

// takers lists, for each node, the moves to it.
func (set *moveSet) takers() byNode {
	b := byNode{first: make([]int32, len(set.soon.Nodes)+1)}
	each := func(do func(node, move int)) {
		for i := range set.moves {
			if set.moves[i].state != moveImpossible {
				for _, s := range set.moves[i].at {
					do(s.node, i)
				}
			}
		}
	}
	each(func(node, _ int) { b.first[node+1]++ })
	for n := range len(set.soon.Nodes) {
		b.first[n+1] += b.first[n]
	}
	b.list = make([]int32, b.first[len(set.soon.Nodes)])
	next := append([]int32(nil), b.first...)
	each(func(node, move int) {
		b.list[next[node]] = int32(move)
		next[node]++
	})
	return b
}
