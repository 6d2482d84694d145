package eligible

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// TestSlicesAreNotGPUs: a job that waits for MIG slices is no demand for GPUs, and a job that has
// slices uses none of its node's whole GPUs.
func TestSlicesAreNotGPUs(t *testing.T) {
	for _, c := range []struct {
		gpus, slices, want int
	}{{4, 0, 4}, {4, 4, 0}, {4, 3, 1}, {2, 3, 0}} {
		j := slurm.Job{ID: 7, State: slurm.Pending, Reason: "Resources", GPUs: c.gpus, Slices: c.slices, NodeCount: 2}
		if d, waits := demandOf(j); d.GPUs != c.want || waits != (c.want > 0) {
			t.Errorf("%+v waits for GPUs: %v, %+v", c, waits, d)
		}
		j.State, j.Nodes = slurm.Running, []string{"gpu1", "gpu2"}
		others, spread := map[string]int{}, map[string]int{}
		countOthers(others, spread, map[string]int{"gpu1": 4, "gpu2": 4}, j)
		if spans := spans([]slurm.Job{j})["gpu2"]; others["gpu1"]+spread["gpu1"] != (c.want+1)/2 || (spans > 0) != (c.want > 0) {
			t.Errorf("%+v: others have %v, %d span", c, others, spans)
		}
	}
}

// TestTenants: a running ordinary job holds its whole GPUs until its time limit, if it has one; a
// pending or completing job holds none.
func TestTenants(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	j := slurm.Job{ID: 7, State: slurm.Running, GPUs: 4, Nodes: []string{"gpu1", "gpu2"}, NodeCount: 2, TimeLimit: 2 * time.Hour, TimeLeft: time.Hour}
	got, holds := tenantOf(j, now)
	if !holds || got.Place.String() != "gpu1:2+gpu2:2" || !got.Ends.Equal(now.Add(time.Hour)) {
		t.Errorf("%+v holds %v: %+v", j, holds, got)
	}
	j.TimeLimit, j.TimeLeft = 0, 0
	if got, holds := tenantOf(j, now); !holds || !got.Ends.IsZero() {
		t.Errorf("without a limit: %v, %+v", holds, got)
	}
	for what, change := range map[string]func(*slurm.Job){
		"completing":       func(j *slurm.Job) { j.Completing = true },
		"of slices of GPU": func(j *slurm.Job) { j.Slices = 4 },
		"pending":          func(j *slurm.Job) { j.State, j.Nodes = slurm.Pending, nil },
	} {
		k := j
		change(&k)
		if got, holds := tenantOf(k, now); holds {
			t.Errorf("a job that is %s holds %+v", what, got)
		}
	}
}
