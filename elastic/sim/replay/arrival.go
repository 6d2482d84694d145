package replay

import (
	"iter"

	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

// pull walks a workload one job at a time.
func pull(w workload.Workload) (*arrival, func()) {
	more, stop := iter.Pull(w.Jobs)
	a := &arrival{more: more, n: -1}
	a.step()
	return a, stop
}

func (a *arrival) step() {
	job, ok := a.more()
	a.job, a.done = job, !ok
	a.n++
}
