package step

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/supervise"
)

// ofNode are the variables that each node sets itself.
var ofNode = []string{"SLURMD_NODENAME", "SLURM_GPUS_ON_NODE", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "SLURM_CPUS_ON_NODE", "SLURM_MEM_PER_NODE",
	"CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ROCR_VISIBLE_DEVICES"}

// stepID is the number of a step: those of one run differ, and later ones are larger.
func stepID(now time.Time) string { return strconv.FormatInt(now.UnixMicro(), 10) }

// shared are the variables of a step that are the same on all of its nodes.
func shared(env []string, nodes int, id string) []string {
	list := supervise.Vars(env)["SLURM_JOB_NODELIST"]
	n := strconv.Itoa(nodes)
	each := "1"
	if nodes > 1 {
		each = fmt.Sprintf("1(x%d)", nodes)
	}
	return replace(env, []string{"SLURM_STEP_ID=" + id, "SLURM_STEPID=" + id, "SLURM_STEP_NODELIST=" + list, "SLURM_STEP_NUM_NODES=" + n, "SLURM_STEP_NUM_TASKS=" + n,
		"SLURM_STEP_TASKS_PER_NODE=" + each, "SLURM_NTASKS=" + n, "SLURM_NPROCS=" + n, "SLURM_LOCALID=0"})
}

// onNode are the variables of the task of one node: those of the step, with the node's own.
func onNode(env, own []string, node int) []string {
	vars := supervise.Vars(own)
	mine := []string{"SLURM_PROCID=" + strconv.Itoa(node), "SLURM_NODEID=" + strconv.Itoa(node)}
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(ofNode, name)
	})
	for _, name := range ofNode {
		if value, is := vars[name]; is {
			mine = append(mine, name+"="+value)
		}
	}
	return replace(env, mine)
}

// replace sets variables.
func replace(env, with []string) []string {
	named := supervise.Vars(with)
	out := slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		_, is := named[name]
		return is
	})
	return append(out, with...)
}
