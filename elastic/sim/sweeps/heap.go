package sweeps

import (
	"cmp"
	"slices"
)

// lanes is a heap by the end of the present epoch.
type lanes []*lane

// Len is the number of lanes that run.
func (h lanes) Len() int { return len(h) }

// Less puts the lane first whose epoch ends first; at one moment the order of sweeps and trials
// decides, so that a simulation repeats.
func (h lanes) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].at, h[j].at), cmp.Compare(h[i].sweep.Order, h[j].sweep.Order), cmp.Compare(h[i].trial.number, h[j].trial.number)) < 0
}

// Swap needs no bookkeeping: a lane does not know its place.
func (h lanes) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push is for container/heap; heap.Push puts the lane into its place.
func (h *lanes) Push(x any) { *h = append(*h, x.(*lane)) }

// Pop is for container/heap: the last element, where heap.Pop has put the first lane.
func (h *lanes) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func sortLanes(list lanes) {
	slices.SortFunc(list, func(a, b *lane) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.sweep.Order, b.sweep.Order), cmp.Compare(a.trial.number, b.trial.number))
	})
}

// sorted lists the sweeps in the order of their arrival.
func sorted[V any](of map[*Sweep]V) []*Sweep {
	var list []*Sweep
	for s := range of {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *Sweep) int { return cmp.Compare(a.Order, b.Order) })
	return list
}
