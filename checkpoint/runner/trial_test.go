package runner

import (
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/supervise"
	"github.com/sluice-hpc/sluice/nodes"
)

// TestTrialOnSeveralNodes: a trial has the GPUs of its lane, also where these are on several nodes, which
// the runner of a trial cannot count.
func TestTrialOnSeveralNodes(t *testing.T) {
	slurm := []string{"SLURM_JOB_NODELIST=gpu[1-3]", "SLURM_GPUS_ON_NODE=2"}
	target := checkpoint.Target{Version: 1, Type: "a100", Split: nodes.Placement{{Node: "gpu1", GPUs: 2}, {Node: "gpu2", GPUs: 1}, {Node: "gpu3", GPUs: 4}}, Largest: 8}
	lane := environment(slurm, facts{jobDir: "/x", where: look(supervise.Vars(slurm), target), largest: target.Largest})
	again := inherited(supervise.Vars(lane))
	trial := strings.Join(environment(lane, facts{jobDir: "/y", where: look(supervise.Vars(lane), again), largest: again.Largest}), " ")
	for _, want := range []string{"SLUICE_GPUS=7", "SLUICE_SPLIT=gpu1:2,gpu2:1,gpu3:4", "SLUICE_NODES=3", "SLUICE_MAX_GPUS=8", "SLUICE_GPU_TYPE=a100"} {
		if !strings.Contains(trial, want) {
			t.Errorf("no %s in %s", want, trial)
		}
	}
	if w := inherited(map[string]string{"SLUICE_SPLIT": ""}); w.GPUs != 0 || w.Split != nil || w.Largest != 0 {
		t.Errorf("of nothing: %+v", w)
	}
}
