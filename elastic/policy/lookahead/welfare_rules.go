package lookahead

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic/solve/joint"
	"github.com/sluice-hpc/sluice/elastic/solve/welfare"
)

// price adds the provider's costs to the problem: an account for each GPU type, then CPUs and
// memory. What costs nothing has no account.
//
// Accounts 0 to kinds-1 are GPUs by type, account kinds is CPUs, kinds+1 is memory in MB. Rates
// are per hour and unit. Nodes that take no new job count neither as existing nor as used.
func (w *welfareRound) price(p *welfare.Problem) {
	kinds := len(w.types)
	have, free := make([]int64, kinds+2), make([]int64, kinds+2)
	for i, n := range w.snap.Nodes {
		// kinds+2 is beyond the last account: what counts to it costs nothing.
		kind := slices.Index(w.types, n.Type)
		p.Nodes[i].Account = []int{kind, kinds, kinds + 1, kinds + 2}
		for range w.mixed {
			p.Nodes[i].Account = append(p.Nodes[i].Account, kinds+2) // a type is not paid twice
		}
		if !n.Usable {
			continue
		}
		for r, of := range []int64{int64(n.GPUs), int64(n.CPUs), n.MemoryMB} {
			a := p.Nodes[i].Account[r]
			have[a] += of
			free[a] += min(of, p.Nodes[i].Free[r])
		}
	}
	for a := range have {
		rate := w.costs.MemoryGB / 1024
		switch {
		case a < kinds:
			rate = w.costs.Of(w.types[a])
		case a == kinds:
			rate = w.costs.CPU
		}
		p.Costs = append(p.Costs, w.rising(rate, have[a]))
		p.Used = append(p.Used, have[a]-free[a])
	}
}

// rising returns a rate that increases beyond the peak, a share of what the cluster has. mostCost is
// more than any use is worth, so a higher rate would change nothing. With a peak of 0.8 and a
// surcharge of 2, the first 80 of 100 GPUs cost the rate and the last 20 twice as much. Without a
// surcharge above 1 the rate is the same for all.
func (w *welfareRound) rising(rate float64, have int64) welfare.Cost {
	out := welfare.Cost{{From: 0, Rate: rate}}
	if from := int64(w.costs.Peak * float64(have)); w.costs.Surcharge > 1 && from > 0 && from < have {
		out = append(out, welfare.Step{From: from, Rate: max(rate, min(mostCost, rate*w.costs.Surcharge))})
	}
	return out
}

// reachable checks what a plan needs beside room: that its moves can be made one after the
// other, and that Slurm would allocate its uneven splits. What was built that way is correct
// already. The function returned reuses its memory: it is for one goroutine.
func (w *welfareRound) reachable(search *joint.Search, placing *joint.Problem, p *welfare.Problem, built []joint.Plan) func([]welfare.Place) bool {
	places := make([][]joint.Share, len(p.Jobs))
	memory := make([][]joint.Share, len(p.Jobs))
	return func(all []welfare.Place) bool {
		for i, at := range all {
			places[i] = w.shares(i, at, placing, p, memory[i][:0])
			if at.Option > 0 || at.Option == 0 && !w.stays[i] {
				memory[i] = places[i]
			}
		}
		return search.CanReach(places) && (placing.AtOnce || w.slurmGives(places, built, placing))
	}
}

// slurmGives reports whether Slurm would allocate every uneven split as in the plan: it fills
// nodes in order, and leaves at least one GPU for each that follows. If 3 GPUs are free on the
// first node and 4 on the second, 5 GPUs are allocated as 3+2, so that a plan with 2+3 is refused.
// Even splits, present places and those of built plans are not checked.
func (w *welfareRound) slurmGives(places [][]joint.Share, built []joint.Plan, placing *joint.Problem) bool {
	var free []int
	for i, place := range places {
		if even(place) || sameShares(place, placing.Jobs[i].Now) ||
			slices.ContainsFunc(built, func(b joint.Plan) bool { return sameShares(place, b.Places[i]) }) {
			continue
		}
		if free == nil {
			free = leftOver(places, placing)
		}
		sorted := slices.Clone(place)
		slices.SortFunc(sorted, byNode)
		left := 0
		for _, s := range sorted {
			left += s.GPUs
		}
		for k, s := range sorted {
			if s.GPUs != min(free[s.Node]+s.GPUs, left-(len(sorted)-1-k)) {
				return false
			}
			left -= s.GPUs
		}
	}
	return true
}

// even reports whether a place has the same number of GPUs on each of its nodes.
func even(place []joint.Share) bool {
	for _, s := range place {
		if s.GPUs != place[0].GPUs {
			return false
		}
	}
	return true
}

// leftOver returns what is free on each node under a plan.
func leftOver(places [][]joint.Share, placing *joint.Problem) []int {
	out := make([]int, len(placing.Nodes))
	for i := range placing.Nodes {
		out[i] = placing.Nodes[i].Free
	}
	for _, place := range places {
		for _, s := range place {
			out[s.Node] -= s.GPUs
		}
	}
	return out
}
