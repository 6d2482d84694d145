package nodes

// GreedySplit is Slurm's rule for a total number of GPUs on a list of nodes: node by
// node, in order, as many as are free, but leaving at least one for each node that
// follows. It returns the GPUs per node, or nil if the nodes do not have that many free,
// or if there are more nodes than GPUs.
func GreedySplit(free []int, gpus int) []int {
	if len(free) == 0 || gpus < len(free) {
		return nil
	}
	split := make([]int, len(free))
	for i, have := range free {
		following := len(free) - i - 1
		split[i] = min(have, gpus-following)
		if split[i] < 1 {
			return nil
		}
		gpus -= split[i]
	}
	if gpus > 0 {
		return nil
	}
	return split
}

// uneven fills m nodes greedily: the roomiest ones completely, and the node that the rest
// fits best. Since Slurm decides the split when it starts the job, only nodes are used on
// which the split does not depend on which of the requests placed in the same call starts
// first.
func (f *placer) uneven(r Request, k, m int, room []spot) Placement {
	exact := make([]spot, 0, len(room)) // CPUs and memory do not narrow the GPUs
	fresh := make([]spot, 0, len(room)) // and no request was placed there in this call
	for _, s := range room {
		if s.slots != f.now[s.node].FreeOf(r.Type) {
			continue
		}
		exact = append(exact, s)
		if f.before[s.node].FreeOf(r.Type) == s.slots {
			fresh = append(fresh, s)
		}
	}
	for _, among := range [][]spot{exact, fresh} {
		if fewest(among, k) != m {
			continue
		}
		chosen := roomiest(among, k, m)
		split := GreedySplit(free(f.now, chosen, r.Type), k)
		if split != nil && same(split, GreedySplit(free(f.before, chosen, r.Type), k)) {
			return f.placement(chosen, split)
		}
	}
	return nil
}

// roomiest chooses the m-1 candidates with most room and, for the rest, the one it fits
// best; in inventory order.
func roomiest(room []spot, k, m int) []spot {
	top := len(room) - (m - 1)
	chosen := append([]spot(nil), room[top:]...)
	for _, s := range chosen {
		k -= s.slots
	}
	for _, s := range room[:top] {
		if s.slots >= k {
			return inOrder(append(chosen, s))
		}
	}
	return inOrder(chosen)
}

func free(inventory []Node, chosen []spot, kind string) []int {
	out := make([]int, len(chosen))
	for i, s := range chosen {
		out[i] = inventory[s.node].FreeOf(kind)
	}
	return out
}

func same(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
