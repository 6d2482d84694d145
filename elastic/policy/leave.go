package policy

import (
	"maps"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// leave is applied to the answer of every policy that resizes. A job that itself reports one of
// its GPUs as unfit, on a node that is excluded for new jobs, moves at its size to idle GPUs,
// as any job moves: after a verified checkpoint. Jobs that the policy gives GPUs, and ordinary
// jobs that wait, come first. A job on healthy GPUs of such a node stays, whatever others
// report. It is pure.
// It comes last: what the stages before it decided stands. A job that finds no place stays, and is tried
// again at the next decision.
func leave(s elastic.Snapshot, a elastic.Allocation) elastic.Allocation {
	var before plan.Arrangement
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if !j.OnUnfitGPU || !leaves(s, j, a) {
			continue
		}
		if before.Target == nil {
			before = plan.Arrange(s, a)
		}
		to := idlePlace(s, before, j, j.GPUs())
		if len(to) == 0 || to.Equal(j.Place) {
			continue
		}
		next := maps.Clone(a)
		next[j.ID] = elastic.Decision{GPUs: j.GPUs(), Place: to, Why: reason.MovesTo{To: to, GPUs: j.GPUs(), Because: reason.UnfitGPU}}
		if after := plan.Arrange(s, next); after.Target[j.ID].Equal(to) && othersUnchanged(s, before, after, j.ID, next[j.ID]) {
			a, before = next, after
		}
	}
	return a
}

// leaves reports whether the job may be moved now, and the policy leaves it where it is.
func leaves(s elastic.Snapshot, j *elastic.Job, a elastic.Allocation) bool {
	d, named := a[j.ID]
	if named && (d.GPUs != j.GPUs() || len(d.Place) > 0 && !d.Place.Equal(j.Place)) {
		return false
	}
	if s.Resting(j) {
		return false
	}
	is, _ := (&roles.Subject{Job: *j, At: j.Place, Now: j.GPUs()}).Classify(&s)
	// A job whose user set a size that it does not accept through Slurm cannot be moved at that
	// size.
	return is == roles.Movable && j.Spec.Allows(j.GPUs(), j.GPUs())
}

// idlePlace returns a place of n idle GPUs for the job, which gives back what it has, beside
// what the arrangement binds to others and what ordinary jobs wait for; empty if there is none.
// Targets of other jobs count beyond their present places, which the inventory has as used.
//
// It is not checked that the job accepts n. The partitions searched are those of the job given, so a
// caller limits the search by a copy with fewer. Nothing is booked: a caller that decides about several
// jobs MUST call plan.Arrange again in between.
func idlePlace(s elastic.Snapshot, where plan.Arrangement, j *elastic.Job, n int) nodes.Placement {
	var promised []nodes.Load
	for i := range s.Jobs {
		if k := &s.Jobs[i]; k.ID != j.ID {
			promised = append(promised, k.Load(roles.Beyond(where.Target[k.ID], k.Place)))
		}
	}
	wants := make([]nodes.Want, len(s.Demands))
	for i, d := range s.Demands {
		wants[i] = d.Want()
	}
	idle, _ := nodes.Reserve(nodes.With(s.Nodes, promised...), wants)
	r := j.Request(s.Limits)
	r.GPUs = n
	return nodes.Place(nodes.Without(idle, j.Load(j.Place)), []nodes.Request{r})[0].Placement
}
