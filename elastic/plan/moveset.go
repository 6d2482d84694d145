package plan

import (
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
)

// moveSet is moves of jobs to given places: which of them can be made, and in which order.
type moveSet struct {
	s     elastic.Snapshot
	bound map[elastic.JobID]nodes.Placement // what jobs with an open move are bound to
	soon  *nodes.Ledger                     // every open move made, and those of order
	moves []move
	order []*move // those that can be made, in their order
}

// move is one job that is given a place.
type move struct {
	job      *elastic.Job
	index    int // of the job in the snapshot
	to       nodes.Placement
	from, at []nodeShare // where it is and where it is meant to be, by node
	spans    bool        // at takes several nodes
	spanned  bool        // from does
	state    moveState
	on       int // while its state is moveWaits: the node on which it found no room
}

// nodeShare is a job's GPUs on one node, the node by its index.
type nodeShare struct{ node, gpus int }

// moveState says what became of a move.
type moveState int

const (
	moveWaits      moveState = iota // for moves that free its GPUs
	moveImpossible                  // it cannot have the place
	moveOrdered                     // it is in order
)

// add adds the move of a job, by its index, to the place, unless it is none.
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

// shares finds the nodes of a placement; those that are gone are left out.
func (set *moveSet) shares(p nodes.Placement) []nodeShare {
	out := make([]nodeShare, 0, len(p))
	for _, share := range p {
		if i, ok := set.soon.Index(share.Node); ok {
			out = append(out, nodeShare{i, share.GPUs})
		}
	}
	return out
}

// ordered brings the shares into the inventory's order, which is Slurm's, unless
// the cluster gives any split in any order, and reports whether each names another
// node that is there.
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

// valid reports whether the place is one the job could have on an empty cluster.
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

// gpusOn returns the GPUs on one node; 0 where there is no share of it.
func gpusOn(shares []nodeShare, node int) int {
	for _, s := range shares {
		if s.node == node {
			return s.gpus
		}
	}
	return 0
}
