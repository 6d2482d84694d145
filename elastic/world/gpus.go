package world

import (
	"fmt"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// Break makes a node's GPU unfit for a reason, or fit again with "". The runners of jobs on it report
// that from then on.
func (w *World) Break(node string, gpu int, why string) {
	if w.unfit == nil {
		w.unfit = map[string]map[int]string{}
	}
	if w.unfit[node] == nil {
		w.unfit[node] = map[int]string{}
	}
	w.unfit[node][gpu] = why
}

// gauge sets the driver's data of the run's GPUs in the runner's status.
func (w *World) gauge(token string, r *checkpoint.Runner) {
	t := w.byToken[token]
	if w.unfit == nil && w.Utilisation == nil && !w.MIG || t == nil || t.run == nil || r.Restarts != t.run.Restarts {
		return
	}
	r.Devices = nil
	for _, s := range t.run.Split {
		d := checkpoint.Devices{Node: s.Node, At: r.Beat}
		for _, id := range indices(s) {
			g := nodes.Device{Index: id, UUID: fmt.Sprintf("GPU-%s-%d", s.Node, id), MIG: w.MIG, Utilisation: -1, Unfit: w.unfit[s.Node][id]}
			if w.Utilisation != nil {
				g.Utilisation = w.Utilisation(t)
			}
			d.GPUs = append(d.GPUs, g)
		}
		r.Devices = append(r.Devices, d)
	}
}

// indices returns the indices of the GPUs on the node; the first ones if Slurm does not show them.
func indices(s slurm.GPUShare) []int {
	if len(s.IDs) == s.GPUs {
		return s.IDs
	}
	out := make([]int, s.GPUs)
	for i := range out {
		out[i] = i
	}
	return out
}
