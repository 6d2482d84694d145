package nodes

// Load is what one job uses on its nodes.
type Load struct {
	Place       Placement
	CPUsPerGPU  int    // 0 = one CPU a node
	MemPerGPUMB int64  // 0 = not counted: Slurm decides
	Type        string // GPU type that it requests of Slurm; "" = any
}

// CPUs returns the CPUs that the load uses on a node where it has this many GPUs.
func (l Load) CPUs(gpus int) int {
	if l.CPUsPerGPU > 0 {
		return gpus * l.CPUsPerGPU
	}
	return 1
}

// With returns a copy of the inventory in which the loads count as used. Nodes that a
// load names and the inventory does not have are ignored.
func With(inventory []Node, loads ...Load) []Node {
	out := append([]Node(nil), inventory...)
	Charge(out, loads...)
	return out
}

// Without returns a copy of the inventory without the loads: the rest is used by others.
// Nothing falls below zero.
func Without(inventory []Node, loads ...Load) []Node {
	out := append([]Node(nil), inventory...)
	Credit(out, loads...)
	return out
}

// Charge is With on the inventory itself.
func Charge(inventory []Node, loads ...Load) { shift(inventory, 1, loads) }

// Credit is Without on the inventory itself.
func Credit(inventory []Node, loads ...Load) { shift(inventory, -1, loads) }

func shift(inventory []Node, sign int, loads []Load) {
	find := finder(inventory, loads)
	for _, l := range loads {
		l.shift(sign, find)
	}
}

// shift books the load, or removes it with sign -1.
func (l Load) shift(sign int, find func(string) *Node) {
	for _, s := range l.Place {
		n := find(s.Node)
		if n == nil || s.GPUs < 1 {
			continue
		}
		n.Book(l.Type, max(sign*s.GPUs, -n.Used))
		n.CPUsUsed = max(0, n.CPUsUsed+sign*l.CPUs(s.GPUs))
		n.MemUsedMB = max(0, n.MemUsedMB+int64(sign)*int64(s.GPUs)*l.MemPerGPUMB)
		if len(l.Place) > 1 {
			n.Spanning = max(0, n.Spanning+sign)
		}
	}
}

// finder returns a look-up of nodes by name; nil for an unknown node. A few shares are
// searched one by one, many through an index.
func finder(inventory []Node, loads []Load) func(string) *Node {
	shares := 0
	for _, l := range loads {
		shares += len(l.Place)
	}
	if shares <= 8 {
		return func(name string) *Node {
			for i := range inventory {
				if inventory[i].Name == name {
					return &inventory[i]
				}
			}
			return nil
		}
	}
	at := make(map[string]*Node, len(inventory))
	for i := range inventory {
		at[inventory[i].Name] = &inventory[i]
	}
	return func(name string) *Node { return at[name] }
}

// Free returns the unallocated GPUs on usable nodes of the partition; every node belongs
// to "".
func Free(inventory []Node, partition string) int {
	free := 0
	for _, n := range inventory {
		if n.In(partition) {
			free += n.Free()
		}
	}
	return free
}
