package plan

import (
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
)

// moveSet is a set of moves of jobs to given places: which of them can be made, and in which
// order.
//
// It is used in this ORDER: add for every job with a named place, in the order of the snapshot; fit,
// once; sequence, once. Afterwards order has the moves that can be made, and each other move is
// moveImpossible or moveWaits, which says whether the place itself was the obstacle.
type moveSet struct {
	s     elastic.Snapshot
	bound map[elastic.JobID]nodes.Placement // what jobs with an open move are bound to
	soon  *nodes.Ledger                     // as after every open move, and the moves in order
	moves []move
	order []*move // moves that can be made, in their order
}

// move is a job and the place it is given.
type move struct {
	job      *elastic.Job
	index    int // index of the job in the snapshot
	to       nodes.Placement
	from, at []nodeShare // where it is and where it is to be, by node
	spans    bool        // at takes several nodes
	spanned  bool        // from does
	state    moveState
	on       int // while its state is moveWaits: the node without room for it
}

// nodeShare is a job's GPUs on one node, the node by its index.
type nodeShare struct{ node, gpus int }

// moveState is the result for a move.
type moveState int

const (
	moveWaits      moveState = iota // for moves that free the GPUs it needs
	moveImpossible                  // the job cannot have the place
	moveOrdered                     // it is in order
)

// add adds the move of the job with this index to the place, unless it is no move.
// Not added is a job with an open move or that is not movable, one that is at the place already, and
// one that has no place and is given none.
func (set *moveSet) add(i int, place nodes.Placement) {
	j := &set.s.Jobs[i]
	if _, moving := set.bound[j.ID]; moving || !movable(j) || (len(place) == 0 && len(j.Place) == 0) {
		return
	}
	m := move{job: j, index: i, to: place, from: set.shares(j.Place), spanned: len(j.Place) > 1, spans: len(place) > 1, on: -1}
	m.at = set.shares(place)
	proper := set.ordered(&m)
	if m.to.Equal(j.Place) {
		return
	}
	if !proper || !set.valid(&m) {
		m.state = moveImpossible
	}
	set.moves = append(set.moves, m)
}

// shares returns the nodes of a placement, without those that no longer exist.
// The result is in the order of the placement.
func (set *moveSet) shares(p nodes.Placement) []nodeShare {
	out := make([]nodeShare, 0, len(p))
	for _, share := range p {
		if i, ok := set.soon.Index(share.Node); ok {
			out = append(out, nodeShare{i, share.GPUs})
		}
	}
	return out
}

// ordered sorts the shares into the inventory's order, which is Slurm's, unless the cluster
// allows any split in any order. It reports whether the shares name different, existing nodes.
// The place of the move is then written in that order too, as a new placement: the decision's own
// is not changed.
func (set *moveSet) ordered(m *move) bool {
	if len(m.at) != len(m.to) {
		return false
	}
	byNode := func(a, b nodeShare) int { return a.node - b.node }
	if !slices.IsSortedFunc(m.at, byNode) {
		slices.SortFunc(m.at, byNode)
	}
	if !set.s.Limits.AnySplit() && !slices.IsSortedFunc(set.shares(m.to), byNode) {
		m.to = make(nodes.Placement, len(m.at))
		for i, s := range m.at {
			m.to[i] = nodes.Share{Node: set.soon.Nodes[s.node].Name, GPUs: s.gpus}
		}
	}
	for i := 1; i < len(m.at); i++ {
		if m.at[i].node == m.at[i-1].node {
			return false
		}
	}
	return true
}

// valid reports whether the job could have the place on an empty cluster.
// An uneven place needs a job that accepts uneven splits, and all its nodes have to be in one of the
// job's partitions. No nodes, the place of a job that is stopped, are always valid.
func (set *moveSet) valid(m *move) bool {
	for _, s := range m.at {
		n := &set.soon.Nodes[s.node]
		if s.gpus < 1 || s.gpus > n.Has(m.job.Spec.Type()) || !n.Usable {
			return false
		}
	}
	if !m.to.Even() && !m.job.Spec.AllowUneven && !set.s.Limits.AnySplit() {
		return false
	}
	return len(m.at) == 0 || slices.ContainsFunc(strings.Split(m.job.Partition, ","), func(partition string) bool {
		return !slices.ContainsFunc(m.at, func(s nodeShare) bool { return !set.soon.Nodes[s.node].In(partition) })
	})
}

// gpusOn returns the GPUs on one node; 0 if there is no share of it.
func gpusOn(shares []nodeShare, node int) int {
	for _, s := range shares {
		if s.node == node {
			return s.gpus
		}
	}
	return 0
}
