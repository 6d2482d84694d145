package greedy

import (
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// EF is the baseline that gives all free GPUs to the job at the head of the queue, as many as
// it accepts, and never resizes. GPUs that ordinary jobs wait for are not free beyond the job's
// minimum.
func EF(s elastic.Snapshot) elastic.Allocation {
	return baseline{policy: "ef", size: minimum, more: everything, why: reason.EFRule}.allocate(s)
}

// everything returns the largest place that the job accepts; its present one if there is none,
// or if an earlier job waits. place MUST be free and not yet taken. The result is not taken
// either. While an earlier job waits the job gets no more than it needs: the rest may be what the
// earlier one waits for.
func everything(q *queue, j *elastic.Job, ask nodes.Request, place nodes.Placement) nodes.Placement {
	free := q.free.idle(ask)
	if len(q.heads) > 0 || free <= ask.GPUs {
		return place
	}
	sizes := j.Spec.Options(free)
	inventory := q.free.nodes
	if len(q.snap.Demands) > 0 {
		inventory = q.reserved(ask.Load(place))
		ask.Uneven = q.snap.Limits.AnySplit() // Slurm fills uneven splits from what is set aside
	}
	// The largest size may not have a split on the free nodes. got.Fits says how much would fit,
	// so that a second try with the sizes up to that suffices.
	for tries := 0; tries < 2 && len(sizes) > 0; tries++ {
		ask.GPUs, ask.Sizes = sizes[len(sizes)-1], sizes
		if ask.GPUs <= place.GPUs() {
			break
		}
		got := nodes.Place(inventory, []nodes.Request{ask})[0]
		if len(got.Placement) > 0 {
			return got.Placement
		}
		sizes = j.Spec.Options(got.Fits)
	}
	return place
}

// reserved returns the inventory with what ordinary jobs wait for set aside, as far as there is
// room for it beside the load, which is not charged.
func (q *queue) reserved(load nodes.Load) []nodes.Node {
	wants := make([]nodes.Want, min(roles.MostDemands, len(q.snap.Demands)))
	for i := range wants {
		wants[i] = q.snap.Demands[i].Want()
	}
	after, _ := nodes.Reserve(nodes.With(q.free.nodes, load), wants)
	return nodes.Without(after, load)
}
