package eligible

import (
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

// billOf returns how Slurm computes the billing of the partition's jobs: by its
// TRESBillingWeights, or one per CPU if it has none. The weights are per CPU, per MB, per node and
// per GPU. A weight for a type of GPU counts beside that for all GPUs; elastic.Bill says how the
// items are combined.
func billOf(p slurm.Partition, by slurm.BillingRule) elastic.Bill {
	if len(p.Weights) == 0 {
		return elastic.Bill{CPU: 1}
	}
	b := elastic.Bill{Largest: by == slurm.BillLargest, GRES: by == slurm.BillLargestAndGRES, Types: map[string]float64{}}
	for _, w := range p.Weights {
		switch w.Of {
		case slurm.OfCPUs:
			b.CPU = w.N
		case slurm.OfMemory:
			b.MB = w.N
		case slurm.OfNodes:
			b.Node = w.N
		case slurm.OfGPUs:
			b.GPU = w.N
		default:
			_, kind, _ := strings.Cut(w.Of, ":")
			b.Types[kind] = w.N
		}
	}
	return b
}
