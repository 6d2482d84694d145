package replay

import (
	"math"
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/nodes"
)

// published places as the simulators of published systems do (petuum/adaptdl,
// simulator): a job that keeps its size stays where it is; the others, in order of
// size, or of the policy's queues, then of arrival, take all they need from the node
// with most free GPUs, then from the next. Any split is possible.
func (r *round) published(a elastic.Allocation) map[elastic.JobID]nodes.Placement {
	free := make([]int, len(r.snap.Nodes))
	for i, n := range r.snap.Nodes {
		free[i] = n.Free()
	}
	var placed []int
	for i := range r.snap.Jobs {
		j := &r.snap.Jobs[i]
		d, named := a[j.ID]
		if !named || d.GPUs == j.GPUs() {
			continue
		}
		for _, s := range j.Place {
			free[r.at[s.Node]] += s.GPUs
		}
		if d.GPUs > 0 {
			placed = append(placed, i)
		}
	}
	rank := func(i int) int { return a[r.snap.Jobs[i].ID].GPUs }
	if queue := r.cfg.Policy.Queue; queue != nil {
		rank = func(i int) int { return queue(r.snap.Jobs[i]) }
	}
	slices.SortStableFunc(placed, func(x, y int) int { return rank(x) - rank(y) })
	out := map[elastic.JobID]nodes.Placement{}
	for _, i := range placed {
		id := r.snap.Jobs[i].ID
		if p := freest(r.snap.Nodes, free, a[id].GPUs); p != nil {
			out[id] = p
		}
	}
	return out
}

// freest takes n GPUs, node by node, always from the one with most free, and
// returns nil when there are not so many.
func freest(inventory []nodes.Node, free []int, n int) nodes.Placement {
	sum := 0
	for _, f := range free {
		sum += f
	}
	if sum < n {
		return nil
	}
	var p nodes.Placement
	for n > 0 {
		best := 0
		for i, f := range free {
			if f > free[best] {
				best = i
			}
		}
		take := min(free[best], n)
		p = append(p, nodes.Share{Node: inventory[best].Name, GPUs: take})
		free[best] -= take
		n -= take
	}
	return p
}

// WholeEpochs is the policy as published simulators ask it: the work left is what
// follows the epoch under way, and next to nothing in the last.
func WholeEpochs(p policy.Policy) policy.Policy {
	allocate := p.Allocate
	p.Allocate = func(s elastic.Snapshot) elastic.Allocation {
		s.Jobs = slices.Clone(s.Jobs)
		for i := range s.Jobs {
			j := &s.Jobs[i]
			j.Done = min(math.Floor(j.Done)+1, j.Spec.Total*(1-1e-5))
		}
		return allocate(s)
	}
	return p
}
