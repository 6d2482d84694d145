package plan

import (
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
)

// The following shows tests which moves Arrange finds possible, and why the others are not.

// Feasible says which of a set of moves to given places can be made.
type Feasible struct {
	// Order lists the jobs that can move, each after the jobs whose GPUs it needs.
	Order []elastic.JobID
	// Impossible lists the jobs that cannot have their place: Slurm could not give it to them,
	// or it does not fit beside the targets of all others.
	Impossible []elastic.JobID
	// Circular lists the jobs that wait for each other in a circle, and those that wait
	// for such jobs: in no order can all of them move.
	Circular []elastic.JobID
}

// Possible returns which jobs can move to the given places, while all others stay where they
// are bound. An empty place stops the job. Jobs with an open move, jobs that may not be moved,
// and jobs that are there already are left out. Open moves count as made. Its time is linear in
// jobs and nodes.
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

// feasible lists the jobs by the state of their moves.
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
