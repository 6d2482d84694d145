package policy

import (
	"strings"

	"github.com/sluice-hpc/sluice/nodes"
)

// pool is the part of the cluster that jobs of one kind may use.
type pool struct {
	usable []bool // by node of the inventory
	reach  int    // the most GPUs one job could have if it were alone
	spread []int  // nodes that a size takes at least, by GPUs; 0 = no split exists
}

type poolKey struct {
	partition string
	uneven    bool
}

// newPool looks at what the nodes have, not at who uses it.
func newPool(inventory []nodes.Node, key poolKey) *pool {
	p := &pool{usable: make([]bool, len(inventory))}
	for _, partition := range strings.Split(key.partition, ",") {
		var have []int
		for i, n := range inventory {
			if n.Usable && n.GPUs > 0 && n.In(partition) {
				p.usable[i] = true
				have = append(have, n.GPUs)
			}
		}
		p.widen(have, key.uneven)
	}
	return p
}

// widen adds the splits possible on the nodes of one more partition.
func (p *pool) widen(have []int, uneven bool) {
	total, largest := 0, 0
	for _, g := range have {
		total += g
		largest = max(largest, g)
	}
	atLeast := make([]int, largest+2) // nodes with so many GPUs or more
	for _, g := range have {
		for q := 1; q <= g; q++ {
			atLeast[q]++
		}
	}
	for len(p.spread) <= total {
		p.spread = append(p.spread, 0)
	}
	for n := 1; n <= total; n++ {
		m := fewestNodes(n, largest, len(have), atLeast, uneven)
		if m > 0 && (p.spread[n] == 0 || m < p.spread[n]) {
			p.spread[n] = m
			p.reach = max(p.reach, n)
		}
	}
}

// fewestNodes returns on how many nodes, at least, n GPUs can be split; 0 when
// no split exists.
func fewestNodes(n, largest, count int, atLeast []int, uneven bool) int {
	for m := (n + largest - 1) / largest; m <= min(n, count); m++ {
		// Uneven: with nodes of different sizes m may be one too few, which
		// only makes the estimate of the speed a little too good.
		if uneven || (n%m == 0 && atLeast[n/m] >= m) {
			return m
		}
	}
	return 0
}

// splits reports whether n GPUs can be split over the pool's nodes at all.
func (p *pool) splits(n int) bool { return n >= 1 && n < len(p.spread) && p.spread[n] > 0 }

// meets reports whether the pools share a usable node.
func (p *pool) meets(q *pool) bool {
	for i, in := range p.usable {
		if in && q.usable[i] {
			return true
		}
	}
	return false
}

// free sums the free GPUs of the pool's nodes in a view of the inventory.
func (p *pool) free(inventory []nodes.Node) int {
	sum := 0
	for i, in := range p.usable {
		if in {
			sum += inventory[i].Free()
		}
	}
	return sum
}

// holds sums what a placement has on the pool's usable nodes.
func (p *pool) holds(inventory []nodes.Node, place nodes.Placement) int {
	sum := 0
	for i, in := range p.usable {
		if in {
			sum += place.On(inventory[i].Name)
		}
	}
	return sum
}

// union is the pool of everything some of the pools may use.
func union(pools []*pool) *pool {
	out := &pool{}
	for _, p := range pools {
		if out.usable == nil {
			out.usable = make([]bool, len(p.usable))
		}
		for i, in := range p.usable {
			out.usable[i] = out.usable[i] || in
		}
	}
	return out
}
