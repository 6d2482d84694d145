package greedy

import (
	"math/bits"

	"github.com/sluice-hpc/sluice/nodes"
)

// fitIndex holds the nodes that requests of one kind may use, by how many of their GPUs fit
// there now, so that the best fit is found without looking at all nodes. Each row is a bit set
// over the nodes, so that a search reads 64 nodes at a time.
//
// Invariant: node i is in rows[room[i]] if room[i] > 0, and in no other row; count and free are
// sums over these. Only put changes them.
type fitIndex struct {
	kind  nodes.Request // partition, CPUs and memory per GPU
	room  []int         // by node of the inventory; 0 if none fits, or if requests may not use it
	rows  [][]uint64    // by room: the set of nodes that have exactly that much
	count []int         // nodes in each row
	free  int           // sum of room
}

// newFitIndex fills the index from the nodes as they are now; later changes come by put.
func newFitIndex(inventory []nodes.Node, kind nodes.Request) *fitIndex {
	s := &fitIndex{kind: kind, room: make([]int, len(inventory))}
	for i := range inventory {
		if n := &inventory[i]; n.In(kind.Partition) {
			s.put(i, kind.Room(*n))
		}
	}
	return s
}

// put sets how much room the node has from now on.
func (s *fitIndex) put(node, room int) {
	word, bit := node/64, uint64(1)<<(node%64)
	if old := s.room[node]; old > 0 {
		s.rows[old][word] &^= bit
		s.count[old]--
	}
	s.free += room - s.room[node]
	s.room[node] = room
	if room == 0 {
		return
	}
	for len(s.rows) <= room {
		s.rows, s.count = append(s.rows, nil), append(s.count, 0)
	}
	if s.rows[room] == nil {
		s.rows[room] = make([]uint64, (len(s.room)+63)/64)
	}
	s.rows[room][word] |= bit
	s.count[room]++
}

// best returns the node with the least room that holds n GPUs, the first of several; -1 if
// there is none. n MUST be at least 1. Rows without nodes are skipped by their count, so that it
// reads the words of one row at most.
func (s *fitIndex) best(n int) int {
	for k := n; k < len(s.rows); k++ {
		if s.count[k] == 0 {
			continue
		}
		for word, set := range s.rows[k] {
			if set != 0 {
				return word*64 + bits.TrailingZeros64(set)
			}
		}
	}
	return -1
}
