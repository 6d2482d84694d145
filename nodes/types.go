package nodes

import "slices"

// OfType is the GPUs of one type on a node that has several types.
type OfType struct {
	Type string
	GPUs int // configured
	Used int // allocated to jobs of any kind, as Slurm counts now
}

// Has returns how many GPUs of the node a request for the type can get; "" requests any.
// For a node with GPUs of a single type that is all of them: whether a request may use
// the node at all depends on its partitions.
func (n *Node) Has(kind string) int {
	if kind == "" || len(n.Types) == 0 {
		return n.GPUs
	}
	for _, t := range n.Types {
		if t.Type == kind {
			return t.GPUs
		}
	}
	return 0
}

// FreeOf returns the unallocated GPUs of the type, 0 when the node is not usable; ""
// means any.
func (n *Node) FreeOf(kind string) int {
	if !n.Usable {
		return 0
	}
	return max(0, n.Left(kind))
}

// Left is FreeOf whether or not the node is usable; it is negative if more is booked than
// there is.
func (n *Node) Left(kind string) int {
	left := n.GPUs - n.Used
	if kind == "" || len(n.Types) == 0 {
		return left
	}
	for _, t := range n.Types {
		if t.Type == kind {
			return min(left, t.GPUs-t.Used)
		}
	}
	return 0
}

// Book adds this many GPUs of the type to those used, or removes them if the number is
// negative. For a request without a type Slurm chooses the type: its GPUs are booked on
// no type until Slurm reports them.
func (n *Node) Book(kind string, gpus int) {
	n.Used += gpus
	if kind == "" || len(n.Types) == 0 {
		return
	}
	n.Types = slices.Clone(n.Types) // other copies of the inventory share it
	for i := range n.Types {
		if n.Types[i].Type == kind {
			n.Types[i].Used += gpus
		}
	}
}

// Empty returns the node without any use.
func (n Node) Empty() Node {
	n.Used, n.CPUsUsed, n.MemUsedMB, n.Spanning = 0, 0, 0, 0
	n.Types = slices.Clone(n.Types)
	for i := range n.Types {
		n.Types[i].Used = 0
	}
	return n
}

// Taken lists what is used on one copy of an inventory and was not on an earlier one.
func Taken(before, after []Node) []Load {
	var out []Load
	add := func(kind, node string, gpus int) {
		if gpus > 0 {
			out = append(out, Load{Place: Placement{{Node: node, GPUs: gpus}}, Type: kind})
		}
	}
	for i := range after {
		more := after[i].Used - before[i].Used
		for k, t := range after[i].Types {
			add(t.Type, after[i].Name, t.Used-before[i].Types[k].Used)
			more -= max(0, t.Used-before[i].Types[k].Used)
		}
		add("", after[i].Name, more)
	}
	return out
}
