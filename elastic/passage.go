package elastic

import (
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/nodes"
)

// crossing is a set of moves to given places in the making.
type crossing struct {
	s      Snapshot
	bound  map[JobID]nodes.Placement // what jobs with an open move are bound to
	soon   *nodes.Ledger             // every open move made, and those of order
	movers []mover
	order  []*mover // those that can go, in their order
}

// mover is one job that is given a place.
type mover struct {
	job      *Job
	index    int // of the job in the snapshot
	to       nodes.Placement
	from, at []seat // where it is and where it is meant to be, by node
	spans    bool   // at takes several nodes
	spanned  bool   // from does
	state    passing
	on       int // while it waits: the node on which it found no room
}

// seat is a job's GPUs on one node, the node by its index.
type seat struct{ node, gpus int }

type passing int

const (
	waits passing = iota // for those in its way
	full                 // has no such place
	went                 // is in order
)

// want adds the move of a job, by its index, to the place, unless it is none.
func (c *crossing) want(i int, place nodes.Placement) {
	j := &c.s.Jobs[i]
	if _, moving := c.bound[j.ID]; moving || !movable(j) || (len(place) == 0 && len(j.Place) == 0) {
		return
	}
	m := mover{job: j, index: i, to: place, from: c.seats(j.Place), spanned: len(j.Place) > 1, spans: len(place) > 1, on: -1}
	m.at = c.seats(place)
	proper := c.ordered(&m)
	if m.to.Equal(j.Place) {
		return
	}
	if !proper || !c.valid(&m) {
		m.state = full
	}
	c.movers = append(c.movers, m)
}

// seats finds the nodes of a placement; those that are gone are left out.
func (c *crossing) seats(p nodes.Placement) []seat {
	out := make([]seat, 0, len(p))
	for _, share := range p {
		if i, ok := c.soon.Index(share.Node); ok {
			out = append(out, seat{i, share.GPUs})
		}
	}
	return out
}

// ordered brings the shares into the inventory's order, which is Slurm's, unless
// the cluster gives any split in any order, and reports whether each names another
// node that is there.
func (c *crossing) ordered(m *mover) bool {
	if len(m.at) != len(m.to) {
		return false
	}
	byNode := func(a, b seat) int { return a.node - b.node }
	if !slices.IsSortedFunc(m.at, byNode) {
		slices.SortFunc(m.at, byNode)
	}
	if !c.s.Limits.AnySplit() && !slices.IsSortedFunc(c.seats(m.to), byNode) {
		m.to = make(nodes.Placement, len(m.at))
		for i, s := range m.at {
			m.to[i] = nodes.Share{Node: c.soon.Nodes[s.node].Name, GPUs: s.gpus}
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
func (c *crossing) valid(m *mover) bool {
	for _, s := range m.at {
		n := &c.soon.Nodes[s.node]
		if s.gpus < 1 || s.gpus > n.Has(m.job.Spec.Type()) || !n.Usable {
			return false
		}
	}
	if !m.to.Even() && !m.job.Spec.AllowUneven && !c.s.Limits.AnySplit() {
		return false
	}
	return len(m.at) == 0 || slices.ContainsFunc(strings.Split(m.job.Partition, ","), func(partition string) bool {
		return !slices.ContainsFunc(m.at, func(s seat) bool { return !c.soon.Nodes[s.node].In(partition) })
	})
}

func held(seats []seat, node int) int {
	for _, s := range seats {
		if s.node == node {
			return s.gpus
		}
	}
	return 0
}
