package greedy

import (
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/nodes"
)

// pool is the part of the cluster that jobs of one kind may use. All views of the inventory that
// its methods take MUST have the order of the snapshot's nodes, because usable is by index.
type pool struct {
	usable []bool // by node of the inventory
	kind   string // GPU type that its jobs request; "" = any
	reach  int    // the most GPUs that one job could have if it were alone
	spread []int  // fewest nodes for a size, by GPUs; 0 = no split exists
	have   []int  // GPUs of the nodes, largest first, of the partition with the most
}

// poolKey is what jobs need in common to share a pool. partition is a list as in the job,
// separated by commas: the same partitions in another order are another pool.
type poolKey struct {
	partition string
	uneven    bool
	kind      string // GPU type that is requested; "" = any
}

// newPool returns the pool by what the nodes have, not by what is used. So a size is not refused
// because the cluster is full now. Nodes that take no new job count as having no GPUs.
func newPool(inventory []nodes.Node, key poolKey) *pool {
	return poolOf(inventory, key, func(n nodes.Node) int {
		if !n.Usable {
			return 0
		}
		return n.Has(key.kind)
	})
}

// open returns the pool as it is for one job that leaves its place in this view of the
// inventory: with the free GPUs, and those that the job gives back.
func (r *round) open(j *job, inventory []nodes.Node, place nodes.Placement) *pool {
	request := j.Request(r.snap.Limits)
	without := nodes.Without(inventory, j.Load(place))
	return poolOf(without, poolKey{j.Partition, j.Spec.AllowUneven, j.Spec.Type()}, request.Room)
}

// poolOf returns the pool in which each node has as many GPUs as room says.
func poolOf(inventory []nodes.Node, key poolKey, room func(nodes.Node) int) *pool {
	p := &pool{usable: make([]bool, len(inventory)), kind: key.kind}
	for _, partition := range strings.Split(key.partition, ",") {
		var have []int
		for i, n := range inventory {
			if g := room(n); g > 0 && n.In(partition) {
				p.usable[i] = true
				have = append(have, g)
			}
		}
		p.widen(have, key.uneven)
	}
	return p
}

// widen adds the splits possible on the nodes of another partition, given the GPUs that each of its
// nodes has. A job runs in one partition only, so that its nodes are not added to those of the
// others: for each size the partition with the fewest nodes counts.
//
// With nodes of 4, 4 and 2 GPUs and even splits, spread is 1 for 1 to 4 GPUs, 2 for 6 and for 8,
// and 0 for 5, 7, 9 and 10. With uneven splits it is 2 for 5 to 8 and 3 for 9 and 10. The time is
// the GPUs of the partition times those of its largest node.
func (p *pool) widen(have []int, uneven bool) {
	slices.SortFunc(have, func(a, b int) int { return b - a })
	atLeast := []int{len(have)} // number of nodes with at least that many GPUs
	total := 0
	for i := len(have) - 1; i >= 0; i-- {
		total += have[i]
		for len(atLeast) <= have[i] {
			atLeast = append(atLeast, i+1)
		}
	}
	if len(p.spread) <= total {
		p.have = have
	}
	for len(p.spread) <= total {
		p.spread = append(p.spread, 0)
	}
	least, sum := 0, 0 // sum of the GPUs of the largest least nodes
	for n := 1; n <= total; n++ {
		for sum < n {
			sum += have[least]
			least++
		}
		m := fewestNodes(n, least, atLeast, uneven)
		if m > 0 && (p.spread[n] == 0 || m < p.spread[n]) {
			p.spread[n] = m
			p.reach = max(p.reach, n)
		}
	}
}

// fewestNodes returns on how many nodes, at least least, n GPUs can be split; 0 if no split
// exists. atLeast[g] is the number of nodes with g GPUs or more. An even split of n over m nodes
// needs m nodes with n/m GPUs; the largest share that divides n and has enough nodes gives the
// fewest nodes.
func fewestNodes(n, least int, atLeast []int, uneven bool) int {
	if uneven {
		return least
	}
	for share := len(atLeast) - 1; share >= 1; share-- {
		if m := n / share; n%share == 0 && m >= least && atLeast[share] >= m {
			return m
		}
	}
	return 0
}

// fullest returns the split of n GPUs that uses the largest nodes fully and puts the rest on
// one more. On nodes of 8, 8 and 4 GPUs it splits 18 into 8, 8 and 2. n MUST NOT exceed what the
// nodes have.
func (p *pool) fullest(n int) []int {
	var split []int
	for _, g := range p.have {
		if n < 1 {
			break
		}
		split = append(split, min(g, n))
		n -= min(g, n)
	}
	return split
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
			sum += inventory[i].FreeOf(p.kind)
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

// union returns the pool of everything that some of the pools may use. Only free, holds and meets
// may be asked of it: it has no sizes, and free counts GPUs of any type. Without pools it is
// empty.
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
