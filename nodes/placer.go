package nodes

import (
	"slices"
	"sort"
)

// placer is the inventory while requests are placed on it.
type placer struct {
	now    []Node
	before []Node // before the first request; the caller's
	own    bool   // now is a copy of before
	room   []spot // workspace for the candidates
}

// spot is one node as a candidate for one request.
type spot struct {
	node  int // index into now
	slots int // GPUs of the request that fit there
}

func newPlacer(inventory []Node) *placer {
	return &placer{now: inventory, before: inventory}
}

// Room returns how many GPUs of the request fit on the node now.
func (r Request) Room(n Node) int {
	k := n.FreeOf(r.Type)
	if n.CPUs > 0 {
		free := n.CPUs - n.CPUsUsed
		if r.CPUsPerGPU > 0 {
			k = min(k, free/r.CPUsPerGPU)
		} else if free < 1 {
			k = 0
		}
	}
	if n.MemoryMB > 0 && r.MemPerGPUMB > 0 {
		k = min(k, int((n.MemoryMB-n.MemUsedMB)/r.MemPerGPUMB))
	}
	return max(k, 0)
}

// take books a placement just found.
func (f *placer) take(r Request, p Placement) {
	if !f.own {
		f.now, f.own = append([]Node(nil), f.before...), true
	}
	Charge(f.now, r.Load(p))
}

// largest returns the largest accepted size below the wanted one that fits.
func (f *placer) largest(r Request) int {
	for _, k := range r.accepted(Free(f.now, "")) {
		if f.fit(r, k) != nil {
			return k
		}
	}
	return 0
}

// fit finds the best placement for k GPUs of the request, or nil: on the fewest nodes, in
// the first listed partition that has one.
func (f *placer) fit(r Request, k int) Placement {
	if k < 1 {
		return nil
	}
	var best Placement
	for _, partition := range r.partitions() {
		p := f.fitIn(r, k, partition)
		if p != nil && (best == nil || len(p) < len(best)) {
			best = p
		}
	}
	return best
}

// fitIn is fit within one partition. Several nodes of one GPU type are preferred to mixed
// types, which run at the speed of the slowest.
func (f *placer) fitIn(r Request, k int, partition string) Placement {
	room := f.candidates(r, partition)
	for _, s := range room { // ascending: the first that holds all is the best fit
		if s.slots >= k {
			return Placement{{Node: f.now[s.node].Name, GPUs: k}}
		}
	}
	if !r.Share {
		room = f.unshared(room)
	}
	kinds := f.kinds(room)
	for _, kind := range kinds {
		same := room
		if len(kinds) > 1 {
			same = f.ofKind(room, kind)
		}
		if p := f.several(r, k, same); p != nil {
			return p
		}
	}
	if len(kinds) > 1 {
		return f.several(r, k, room)
	}
	return nil
}

// candidates lists the nodes with room, ascending by room, then inventory order.
func (f *placer) candidates(r Request, partition string) []spot {
	f.room = f.room[:0]
	for i, n := range f.now {
		if !n.In(partition) {
			continue
		}
		if k := r.Room(n); k > 0 {
			f.room = append(f.room, spot{i, k})
		}
	}
	slices.SortStableFunc(f.room, func(a, b spot) int { return a.slots - b.slots })
	return f.room
}

// unshared lists the candidates without a job on several nodes.
func (f *placer) unshared(room []spot) []spot {
	return slices.DeleteFunc(room, func(s spot) bool { return f.now[s.node].Spanning > 0 })
}

// kinds lists the GPU types among the candidates, the type of the roomiest nodes last.
func (f *placer) kinds(room []spot) []string {
	var out []string
next:
	for _, s := range room {
		for _, k := range out {
			if k == f.now[s.node].Type {
				continue next
			}
		}
		out = append(out, f.now[s.node].Type)
	}
	return out
}

func (f *placer) ofKind(room []spot, kind string) []spot {
	var out []spot
	for _, s := range room {
		if f.now[s.node].Type == kind {
			out = append(out, s)
		}
	}
	return out
}

// several finds two or more nodes for k GPUs: the fewest; among those an even
// split before an uneven one.
func (f *placer) several(r Request, k int, room []spot) Placement {
	most := len(room)
	if r.MaxNodes > 0 {
		most = min(most, r.MaxNodes)
	}
	least := fewest(room, k)
	for m := max(2, least); m <= min(most, k); m++ {
		if k%m == 0 {
			if p := f.even(k, m, room); p != nil {
				return p
			}
		}
		if m == least && r.Uneven {
			if p := f.uneven(r, k, m, room); p != nil {
				return p
			}
		}
	}
	return nil
}

// fewest returns the smallest number of candidates that hold k GPUs together.
func fewest(room []spot, k int) int {
	m := 0
	for i := len(room) - 1; i >= 0 && k > 0; i-- {
		k -= room[i].slots
		m++
	}
	if k > 0 {
		return len(room) + 1
	}
	return m
}

// even puts k/m GPUs on each of m nodes, those with the least room, so that nodes are
// filled and whole nodes stay free.
func (f *placer) even(k, m int, room []spot) Placement {
	share := k / m
	at := sort.Search(len(room), func(i int) bool { return room[i].slots >= share })
	if at+m > len(room) {
		return nil
	}
	shares := make([]int, m)
	for i := range shares {
		shares[i] = share
	}
	return f.placement(room[at:at+m], shares)
}

// placement combines nodes and shares in inventory order.
func (f *placer) placement(chosen []spot, shares []int) Placement {
	ordered := inOrder(chosen)
	p := make(Placement, len(ordered))
	for i, s := range ordered {
		p[i] = Share{Node: f.now[s.node].Name, GPUs: shares[i]}
	}
	return p
}

func inOrder(chosen []spot) []spot {
	ordered := append([]spot(nil), chosen...)
	slices.SortFunc(ordered, func(a, b spot) int { return a.node - b.node })
	return ordered
}
