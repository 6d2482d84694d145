package greedy

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
)

// reserveForOrdinary keeps room for waiting ordinary jobs, in their order, and makes running
// jobs give GPUs back where none are idle. If a demand cannot be met even so, nothing is kept
// for it: idle GPUs on which it cannot start are of no use to it.
//
// At most roles.MostDemands demands are considered. One that needs at least as much as an earlier
// one that could not be met is skipped without a trial.
func (r *round) reserveForOrdinary() {
	var vain []elastic.Demand
	for n, d := range r.snap.Demands {
		if n == roles.MostDemands {
			break
		}
		if slices.ContainsFunc(vain, func(v elastic.Demand) bool { return asksAsMuch(d, v) }) {
			continue
		}
		more := append(slices.Clone(r.wants), want{d.Want(), d.ID})
		if size, ok := r.fill(slices.Clone(r.base), more); ok {
			r.size, r.wants = size, more
		} else {
			vain = append(vain, d)
		}
	}
}

// asksAsMuch reports whether d needs everything that e needs. GPUs of one type are GPUs of any, not the reverse.
func asksAsMuch(d, e elastic.Demand) bool {
	return d.Partition == e.Partition && (e.Type == "" || d.Type == e.Type) && d.Nodes >= e.Nodes && d.GPUs*e.Nodes >= e.GPUs*d.Nodes
}
