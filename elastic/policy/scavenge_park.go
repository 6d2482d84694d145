package policy

import (
	"maps"
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/nodes"
)

// parkings is how many times a policy is asked which jobs start on what scavengers give back.
const parkings = 4

// parking is a waiting job, and the scavengers that are parked for it.
// The policy decides whether the job really starts; allStart checks it.
type parking struct {
	starts *elastic.Job
	parked []*elastic.Job
}

// park asks the policy, which may not stop jobs itself, and parks scavengers for jobs that wait then;
// false if that starts none.
// A question that starts not all of the chosen jobs is repeated without those that it did not start, at most
// parkings times. Its answers see no scavenger that waits.
func (g *scavenging) park() (elastic.Allocation, bool) {
	calm := g.s
	calm.Limits.Preempt = false
	a := g.ask(without(calm, g.waits))
	tried := map[elastic.JobID]bool{}
	for range parkings {
		chosen := g.choose(a, tried)
		if len(chosen) == 0 {
			break
		}
		var gone []*elastic.Job
		for _, p := range chosen {
			gone = append(gone, p.parked...)
		}
		next := maps.Clone(g.ask(without(calm, g.waits, gone)))
		for _, p := range chosen {
			for _, j := range p.parked {
				next[j.ID] = parks(j, p.starts)
			}
		}
		if g.allStart(chosen, next, tried) {
			return next, true
		}
	}
	return a, false
}

// allStart reports whether an answer starts all jobs for which scavengers are parked in it, and notes those
// that it does not start.
// A scavenger that plan.Arrange would not stop counts as not given back: its job is noted too.
func (g *scavenging) allStart(chosen []parking, a elastic.Allocation, tried map[elastic.JobID]bool) bool {
	where, all := plan.Arrange(g.s, a), true
	for _, p := range chosen {
		id := p.starts.ID
		stops := !slices.ContainsFunc(p.parked, func(j *elastic.Job) bool { return !where.Park[j.ID] })
		if !stops || where.Target[id].GPUs() < roles.LeastOf(p.starts) {
			tried[id], all = true, false
		}
	}
	return all
}

// choose returns, for the jobs that wait in an answer, the scavengers that have to be parked so that
// each fits at its minimum beside all others and what ordinary jobs wait for.
// Jobs in tried were chosen before in vain. The order is that of the snapshot, first come first.
func (g *scavenging) choose(a elastic.Allocation, tried map[elastic.JobID]bool) (out []parking) {
	f := newFitting(g.s, plan.Arrange(g.s, a))
	left := slices.DeleteFunc(slices.Clone(g.runs), func(j *elastic.Job) bool { return len(f.where.Target[j.ID]) == 0 })
	for _, x := range g.first {
		if a[x.ID].GPUs > 0 || tried[x.ID] {
			continue
		}
		if at := f.fits(x, nil); len(at) > 0 { // it waits for something else, or for GPUs that are being given back
			continue
		}
		parked := f.fewest(x, g.useful(left, x))
		if len(parked) == 0 {
			continue
		}
		out = append(out, parking{x, parked})
		f.take(x, parked)
		left = slices.DeleteFunc(left, func(j *elastic.Job) bool { return slices.Contains(parked, j) })
	}
	return out
}

// meet reports whether a running job has GPUs on a node that another job could use.
func (g *scavenging) meet(j, other *elastic.Job) bool {
	return slices.ContainsFunc(g.s.Nodes, func(n nodes.Node) bool {
		return n.Usable && j.Place.On(n.Name) > 0 && n.InAny(other.Partition)
	})
}
