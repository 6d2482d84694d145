package plan

import (
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
)

// What follows lets tests see which moves Arrange finds possible, and why it does not find
// the others so.

// Feasible says which of a set of moves to given places can be made.
type Feasible struct {
	// Order lists the jobs that can move, so that each finds its GPUs free, or given
	// back, once those before it have made their way.
	Order []elastic.JobID
	// Impossible lists the jobs that cannot have their place: Slurm could not give it to
	// them, or it does not fit beside the targets of all others.
	Impossible []elastic.JobID
	// Circular lists the jobs that wait for each other in a circle, and those that wait
	// for such jobs: in no order can all of them move.
	Circular []elastic.JobID
}

// Possible says which jobs can move to the places given, all others staying where
// they are bound to. An empty place stops the job. Jobs that have an open move, or
// that may not be moved, are left out, and so are those that are there already.
// Open moves count as made. It takes time in proportion to jobs and nodes.
func Possible(s elastic.Snapshot, to map[elastic.JobID]nodes.Placement) Feasible {
	k := newSketch(s)
	set := &moveSet{s: s, bound: k.bound, soon: k.soon}
	for i := range s.Jobs {
		if place, ok := to[s.Jobs[i].ID]; ok {
			set.add(i, place)
		}
	}
	set.fit()
	set.sequence()
	return set.feasible()
}

// feasible lists the jobs by what became of their moves.
func (set *moveSet) feasible() Feasible {
	var p Feasible
	for _, m := range set.order {
		p.Order = append(p.Order, m.job.ID)
	}
	for i := range set.moves {
		switch m := &set.moves[i]; m.state {
		case moveImpossible:
			p.Impossible = append(p.Impossible, m.job.ID)
		case moveWaits:
			p.Circular = append(p.Circular, m.job.ID)
		}
	}
	return p
}
