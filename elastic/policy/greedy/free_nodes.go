package greedy

import (
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/nodes"
)

// freeNodes is what is free on the nodes while requests are placed one after the other. nodes is a
// copy of the inventory. It and closed MUST be changed by take and close only, which keep the
// indexes up to date.
type freeNodes struct {
	nodes   []nodes.Node // with what is used, bound to moves, and taken so far
	at      map[string]int
	indexes []*fitIndex // one for each kind of request so far
	closed  []bool      // nodes from which no job may take any more; nil = none
	open    int         // number of other usable nodes
}

// newFreeNodes counts what open moves will take, beyond what their jobs hold, as used.
func newFreeNodes(s elastic.Snapshot) *freeNodes {
	k := &freeNodes{nodes: nodes.With(s.Nodes)}
	for i := range s.Jobs {
		if len(s.Intents) == 0 {
			break
		}
		j := &s.Jobs[i]
		if in, moving := s.Intent(j.ID); moving && !in.AnyNodes {
			k.take(j.Load(roles.Beyond(in.Target, j.Place)))
		}
	}
	for _, n := range k.nodes {
		if n.Usable {
			k.open++
		}
	}
	return k
}

// place returns the best fit for a request, on one node or, as nodes.Place does, on several;
// nil if there is none. Of several partitions the first with a node for all GPUs counts. The
// indexes answer for one node without a look at every node. Several nodes are searched only if one
// partition has enough room in all. Nothing is taken: the caller takes the place.
func (k *freeNodes) place(r nodes.Request) nodes.Placement {
	most := 0
	for _, partition := range strings.Split(r.Partition, ",") {
		s := k.fits(partition, r)
		if i := s.best(r.GPUs); i >= 0 {
			return nodes.Placement{{Node: k.nodes[i].Name, GPUs: r.GPUs}}
		}
		most = max(most, s.free)
	}
	if most < r.GPUs || r.GPUs < 2 {
		return nil
	}
	return nodes.Place(k.allowed(), []nodes.Request{r})[0].Placement
}

// allowed returns the inventory in which closed nodes take no job. The caller MUST NOT change the
// result: it is the inventory itself while no node is closed.
func (k *freeNodes) allowed() []nodes.Node {
	if k.closed == nil {
		return k.nodes
	}
	out := nodes.With(k.nodes)
	for i, closed := range k.closed {
		out[i].Usable = out[i].Usable && !closed
	}
	return out
}

// idle sums the GPUs that requests of this kind could get, in any split. A node that is in two of
// the request's partitions counts twice: the sum is an upper bound.
func (k *freeNodes) idle(r nodes.Request) int {
	sum := 0
	for _, partition := range strings.Split(r.Partition, ",") {
		sum += k.fits(partition, r).free
	}
	return sum
}

// fits returns the index for requests of this kind in the partition. It is made on first use,
// and kept up to date by take and close.
func (k *freeNodes) fits(partition string, r nodes.Request) *fitIndex {
	kind := nodes.Request{Partition: partition, CPUsPerGPU: r.CPUsPerGPU, MemPerGPUMB: r.MemPerGPUMB, Type: r.Type}
	for _, s := range k.indexes {
		if s.kind.Partition == partition && s.kind.CPUsPerGPU == r.CPUsPerGPU && s.kind.MemPerGPUMB == r.MemPerGPUMB && s.kind.Type == r.Type {
			return s
		}
	}
	s := newFitIndex(k.allowed(), kind)
	k.indexes = append(k.indexes, s)
	return s
}

// take books a load. Nodes that are not in the inventory are ignored.
func (k *freeNodes) take(l nodes.Load) {
	for _, share := range l.Place {
		if i, ok := k.index(share.Node); ok {
			nodes.Charge(k.nodes[i:i+1], l)
			k.reindex(i)
		}
	}
}

// index returns the node's index; false if it is not in the inventory.
func (k *freeNodes) index(name string) (int, bool) {
	if k.at == nil {
		k.at = make(map[string]int, len(k.nodes))
		for i := range k.nodes {
			k.at[k.nodes[i].Name] = i
		}
	}
	i, ok := k.at[name]
	return i, ok
}

// reindex updates the node in every index. It MUST follow every change of a node's use, and its
// closing.
func (k *freeNodes) reindex(node int) {
	for _, s := range k.indexes {
		room := 0
		if (k.closed == nil || !k.closed[node]) && k.nodes[node].In(s.kind.Partition) {
			room = s.kind.Room(k.nodes[node])
		}
		s.put(node, room)
	}
}

// close keeps every node that the request may use from later requests. It returns false if all
// were closed before.
func (k *freeNodes) close(r nodes.Request) (more bool) {
	if k.closed == nil {
		k.closed = make([]bool, len(k.nodes))
	}
	for i := range k.nodes {
		if !k.closed[i] && k.mayUse(i, r) {
			k.closed[i] = true
			k.open--
			k.reindex(i)
			more = true
		}
	}
	return more
}

// meet reports whether the two requests have a usable node in common.
func (k *freeNodes) meet(a, b nodes.Request) bool {
	for i := range k.nodes {
		if k.mayUse(i, a) && k.mayUse(i, b) {
			return true
		}
	}
	return false
}

// mayUse reports whether the node is usable and in one of the request's partitions.
func (k *freeNodes) mayUse(node int, r nodes.Request) bool {
	return k.nodes[node].Usable && k.nodes[node].InAny(r.Partition)
}
