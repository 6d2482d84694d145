package policy

import (
	"maps"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// stoppings is how many times a policy is asked which jobs of others it stops.
const stoppings = 4

// stop returns the answer of a policy that may stop jobs itself. Where it stops jobs of others, it is
// asked again without the scavengers that share nodes with those. They are parked, except those
// whose GPUs nobody gets then; true if some are.
// Each question is without more scavengers. After stoppings questions the last one is without any that may be parked.
func (g *scavenging) stop() (elastic.Allocation, bool) {
	var gone []*elastic.Job
	instead := map[elastic.JobID]*elastic.Job{}
	for asked := 1; ; asked++ {
		a := maps.Clone(g.ask(without(g.s, g.waits, gone)))
		for _, j := range gone {
			a[j.ID] = parks(j, instead[j.ID])
		}
		more := g.yielding(a, instead, asked >= stoppings)
		if len(more) == 0 {
			return g.spare(a, gone), len(gone) > 0
		}
		gone = append(gone, more...)
	}
}

// yielding returns the scavengers that are parked for jobs that an answer stops, and notes for which. Scavengers that
// the policy stops by itself are not among them. all: if any is parked, all others are.
func (g *scavenging) yielding(a elastic.Allocation, instead map[elastic.JobID]*elastic.Job, all bool) (more []*elastic.Job) {
	for _, j := range g.runs {
		if d, named := a[j.ID]; named && d.GPUs == 0 {
			continue
		}
		if k := g.stopped(a, j); k != nil {
			more, instead[j.ID] = append(more, j), k
		}
	}
	if !all || len(more) == 0 {
		return more
	}
	to := instead[more[0].ID]
	for _, j := range g.runs {
		if instead[j.ID] == nil {
			more, instead[j.ID] = append(more, j), to
		}
	}
	return more
}

// spare lets those jobs keep their GPUs that nobody gets in an answer without them.
// Each is tried alone, in the order in which they were parked, beside those that stay already.
func (g *scavenging) spare(a elastic.Allocation, gone []*elastic.Job) elastic.Allocation {
	for _, j := range gone {
		before := plan.Arrange(g.s, a)
		next := maps.Clone(a)
		next[j.ID] = elastic.Decision{GPUs: j.GPUs(), Place: j.Place, Why: reason.Keeps{GPUs: j.GPUs(), Because: reason.NoResizePays}}
		if after := plan.Arrange(g.s, next); after.Target[j.ID].Equal(j.Place) && othersUnchanged(g.s, before, after, j.ID, next[j.ID]) {
			a = next
		}
	}
	return a
}

// stopped returns a job of others that the answer stops and that could use the nodes of a scavenger;
// nil if there is none.
func (g *scavenging) stopped(a elastic.Allocation, scavenger *elastic.Job) *elastic.Job {
	for i := range g.s.Jobs {
		k := &g.s.Jobs[i]
		if d, named := a[k.ID]; named && d.GPUs == 0 && !k.Scavenger && k.Phase == elastic.Running && k.GPUs() > 0 && g.meet(scavenger, k) {
			if _, moving := g.s.Intent(k.ID); !moving {
				return k
			}
		}
	}
	return nil
}
