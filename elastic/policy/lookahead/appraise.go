package lookahead

import (
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/solve/joint"
)

// Appraise compares an allocation with the optimum. value is its value in the score of
// annealing and lookahead; best is the largest value of all sizes and places. ok is false if
// the allocation leaves a job without GPUs that must have some now, or if there is no plan. All
// plans are enumerated: it is for a few jobs on a few nodes. Ordinary jobs count in best only, so
// that the comparison is for snapshots without demands.
func Appraise(s elastic.Snapshot, a elastic.Allocation) (value, best float64, ok bool) {
	o := newRound(s)
	found := false
	chosen, p := o.decide((*round).value, func(_ *round, p *joint.Problem) (best joint.Plan, ok bool) {
		best, found = joint.Exact(p)
		return best, found
	})
	if !found {
		return 0, 0, false
	}
	where := plan.Arrange(s, a)
	for k, i := range o.posed {
		var place []joint.Share
		for _, share := range where.Target[o.jobs[i].ID] {
			place = append(place, joint.Share{Node: o.at[share.Node], GPUs: share.GPUs})
		}
		if len(place) == 0 && p.Jobs[k].Must {
			return 0, 0, false
		}
		value += p.Worth(k, place)
	}
	return value, chosen.Value, true
}
