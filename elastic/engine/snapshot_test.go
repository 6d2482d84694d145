package engine

import (
	"testing"

	"github.com/sluice-hpc/sluice/slurm"
)

// TestSlicesAreNobodysGPUs: a job that waits for MIG slices makes nobody give GPUs
// back, and one that has some takes none of its node's GPUs.
func TestSlicesAreNobodysGPUs(t *testing.T) {
	for _, c := range []struct {
		gpus, slices, want int
	}{{4, 0, 4}, {4, 4, 0}, {4, 3, 1}, {2, 3, 0}} {
		j := slurm.Job{ID: 7, State: slurm.Pending, Reason: "Resources", GPUs: c.gpus, Slices: c.slices, NodeCount: 2}
		if d, waits := demandOf(j); d.GPUs != c.want || waits != (c.want > 0) {
			t.Errorf("%+v waits for GPUs: %v, %+v", c, waits, d)
		}
		j.State, j.Nodes = slurm.Running, []string{"gpu1", "gpu2"}
		others := map[string]int{}
		countOthers(others, j)
		if spans := spans([]slurm.Job{j})["gpu2"]; others["gpu1"] != (c.want+1)/2 || (spans > 0) != (c.want > 0) {
			t.Errorf("%+v: others have %v, %d span", c, others, spans)
		}
	}
}
