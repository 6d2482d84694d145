package nodes

import "sort"

// Want is an ordinary Slurm job that waits for GPUs: GPUs/Nodes, rounded up, on each of
// Nodes nodes.
type Want struct {
	Partition string // as in Request
	Nodes     int    // at least 1; more are used if the GPUs do not fit on this many
	GPUs      int    // in all
	Type      string // GPU type; "" = any
}

// Reserve reserves GPUs for the wants, in order: it returns a copy of the inventory in
// which they count as used, and reports which wants got all they need. For a want that
// does not, nothing is reserved: a part of its GPUs would not start it.
func Reserve(inventory []Node, wants []Want) ([]Node, []bool) {
	out := append([]Node(nil), inventory...)
	met := make([]bool, len(wants))
	for i, w := range wants {
		for _, partition := range (Request{Partition: w.Partition}).partitions() {
			if met[i] = w.reserve(out, partition); met[i] {
				break
			}
		}
	}
	return out, met
}

// reserve books the want on the nodes it fits best, or on none.
func (w Want) reserve(inventory []Node, partition string) bool {
	var room []int
	for i, n := range inventory {
		if n.In(partition) && n.FreeOf(w.Type) > 0 {
			room = append(room, i)
		}
	}
	sort.SliceStable(room, func(a, b int) bool { return inventory[room[a]].FreeOf(w.Type) < inventory[room[b]].FreeOf(w.Type) })
	count, share := w.shape(inventory, partition)
	at := sort.Search(len(room), func(i int) bool { return inventory[room[i]].FreeOf(w.Type) >= share })
	if count == 0 || at+count > len(room) {
		return false
	}
	for _, i := range room[at : at+count] {
		inventory[i].Book(w.Type, share)
	}
	return true
}

// Shape returns on how many nodes the want starts, and with how many GPUs on each, in any
// of its partitions; 0 if there are no nodes with GPUs for it.
func (w Want) Shape(inventory []Node) (count, share int) { return w.shape(inventory, w.Partition) }

// shape returns on how many nodes the want starts with how many GPUs on each; 0 if the
// partition has no nodes with GPUs. A want whose node count is only a lower bound is
// spread over as many nodes as its GPUs need.
func (w Want) shape(inventory []Node, partition string) (count, share int) {
	largest := 0
	for _, n := range inventory {
		if n.InAny(partition) {
			largest = max(largest, n.Has(w.Type))
		}
	}
	if largest == 0 || w.GPUs < 1 {
		return 0, 0
	}
	count = max(1, w.Nodes, (w.GPUs+largest-1)/largest)
	return count, (w.GPUs + count - 1) / count
}
