package elastic

import "github.com/sluice-hpc/sluice/nodes"

// What follows lets tests see which moves Arrange finds possible, and why not the
// others.

// Passage says which of a set of moves to given places can be made.
type Passage struct {
	// Order lists the jobs that can move, so that each finds its GPUs free, or given
	// back, once those before it have made their way.
	Order []JobID
	// Full lists the jobs whose place cannot be: it is none that Slurm could give
	// them, or it does not fit beside where everybody else is meant to be.
	Full []JobID
	// Stuck lists the jobs that wait for each other in a circle, and those that wait
	// for such jobs: no order lets all of them go.
	Stuck []JobID
}

// Possible says which jobs can move to the places given, all others staying where
// they are bound to. An empty place stops the job. Jobs that have an open move, or
// that nobody may move, are left out, and so are those that are there already.
// Open moves count as made. It takes time in proportion to jobs and nodes.
func Possible(s Snapshot, to map[JobID]nodes.Placement) Passage {
	k := newSketch(s)
	c := &crossing{s: s, bound: k.bound, soon: k.soon}
	for i := range s.Jobs {
		if place, ok := to[s.Jobs[i].ID]; ok {
			c.want(i, place)
		}
	}
	c.fit()
	c.sequence()
	return c.passage()
}

// passage puts the outcome into words.
func (c *crossing) passage() Passage {
	var p Passage
	for _, m := range c.order {
		p.Order = append(p.Order, m.job.ID)
	}
	for i := range c.movers {
		switch m := &c.movers[i]; m.state {
		case full:
			p.Full = append(p.Full, m.job.ID)
		case waits:
			p.Stuck = append(p.Stuck, m.job.ID)
		}
	}
	return p
}

// Amount is how much of the resource the job takes at a place.
func (c Cap) Amount(j *Job, at nodes.Placement, s *Snapshot) int { return c.amount(j, at, s) }
