package runner

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// where is what a run knows about its GPUs.
type where struct {
	hosts []string        // from Slurm, in its order; empty outside Slurm
	gpus  int             // total; 0 if unknown
	split nodes.Placement // empty if unknown
	kind  string          // type of the GPUs; "" if unknown
}

// look derives it from values that are fresh after a requeue: the list of nodes and the
// GPUs of the first node, on which the runner runs. The counts of the others are from the
// plan, and used only if the plan agrees with these values: Slurm may have placed the job
// elsewhere.
func look(env map[string]string, target checkpoint.Target) where {
	var w where
	hosts, err := slurm.Expand(env["SLURM_JOB_NODELIST"])
	if err != nil || len(hosts) == 0 {
		w.gpus = gpusHere(env)
		return w
	}
	w.hosts = hosts
	if len(target.Split) == 0 || !slices.ContainsFunc(hosts, func(h string) bool { return target.Split.On(h) == 0 }) {
		w.kind = target.Type
	}
	first := gpusHere(env)
	others := len(hosts) - 1
	switch {
	case first == 0:
	case others == 0:
		w.split = nodes.Placement{{Node: hosts[0], GPUs: first}}
	case agrees(target.Split, hosts, first):
		w.split = target.Split
	case target.GPUs == first*len(hosts):
		for _, h := range hosts {
			w.split = append(w.split, nodes.Share{Node: h, GPUs: first})
		}
	case others == 1 && target.GPUs > first:
		w.split = nodes.Placement{{Node: hosts[0], GPUs: first}, {Node: hosts[1], GPUs: target.GPUs - first}}
	}
	w.gpus = w.split.GPUs()
	return w
}

func agrees(plan nodes.Placement, hosts []string, first int) bool {
	if len(plan) != len(hosts) || plan.On(hosts[0]) != first {
		return false
	}
	for _, h := range hosts {
		if plan.On(h) == 0 {
			return false
		}
	}
	return true
}

// gpusHere counts the GPUs of this node; 0 if the environment does not give them.
func gpusHere(env map[string]string) int {
	if n, err := strconv.Atoi(env["SLURM_GPUS_ON_NODE"]); err == nil && n > 0 {
		return n
	}
	if ids := env["SLURM_JOB_GPUS"]; ids != "" {
		return len(strings.Split(ids, ","))
	}
	return 0
}

// splitWords is the split for $SLUICE_SPLIT: "gpu1:4,gpu2:1".
func splitWords(p nodes.Placement) string {
	parts := make([]string, len(p))
	for i, s := range p {
		parts[i] = s.Node + ":" + strconv.Itoa(s.GPUs)
	}
	return strings.Join(parts, ",")
}
