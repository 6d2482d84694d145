package nodes

import "slices"

// OfType is the GPUs of one type on a node that has several types.
type OfType struct {
	Type string
	GPUs int // configured
	Used int // held by jobs of any kind, as Slurm counts now
}

// Has returns how many GPUs the node has that a request for the type can get; "" asks for
// any. A node with GPUs of a single type has all of them: which nodes a request may use at
// all is said by its partitions.
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

// FreeOf returns the GPUs of the type that nobody holds, 0 when the node is not usable;
// "" asks for any.
func (n *Node) FreeOf(kind string) int {
	if !n.Usable {
		return 0
	}
	return max(0, n.Left(kind))
}

// Left is FreeOf whether or not the node is usable, and below 0 where more is booked than
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

// Book counts so many GPUs of the type more as used, or fewer when it is negative. Slurm
// chooses the type for a request that names none: what such a job takes or gives back is no
// type's until Slurm counts anew.
func (n *Node) Book(kind string, gpus int) {
	n.Used += gpus
	if kind == "" || len(n.Types) == 0 {
		return
	}
	n.Types = slices.Clone(n.Types) // other views of the inventory share it
	for i := range n.Types {
		if n.Types[i].Type == kind {
			n.Types[i].Used += gpus
		}
	}
}

// Empty is the node with nothing on it.
func (n Node) Empty() Node {
	n.Used, n.CPUsUsed, n.MemUsedMB, n.Spanning = 0, 0, 0, 0
	n.Types = slices.Clone(n.Types)
	for i := range n.Types {
		n.Types[i].Used = 0
	}
	return n
}

// Taken lists what is used on one view of an inventory and was not on an earlier one.
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
