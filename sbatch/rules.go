package sbatch

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-hpc/sluice/slurm"
)

const (
	hetWhy = "this begins another part of a heterogeneous job, whose number of parts can never change"
	hetDo  = "submit one elastic job; it may span nodes by itself, and for tasks of several kinds there is sluice ranks ... --and NAME=COUNT COMMAND"

	startOwn        = "leave it out; the script starts its processes itself, e.g. torchrun --nproc-per-node=$SLURM_GPUS_ON_NODE"
	namesNodes      = "sluice names the nodes at every size, so Slurm cannot choose them by this"
	alike           = "leave it out; --constraint='[a|b]' keeps the job on nodes that have the same feature, such as one switch"
	inContainer     = "the job's script would start inside of the container, where sluice is not"
	startContainer  = "leave it out and start the container in the script: srun --container=..., or as in examples/container.sh"
	submitsAsCaller = "sluice submits jobs as the user who calls it"
)

// refusal returns why an option of sbatch cannot be used for a job that changes its size,
// and what to write instead; why is "" if it can. Options that are not listed here are
// passed on.
func refusal(option, value string) (why, do string) {
	switch option {
	// The number of GPUs.
	case "gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket":
		return countGPUs(value)
	case "gres":
		return gres(value)
	case "tres-per-task":
		return tresPerTask(value)

	// The number of nodes and tasks, and which nodes. A resize writes NumNodes, NumTasks
	// and ReqNodeList; only an operator may change TasksPerNode.
	case "nodes":
		return "sluice decides how many nodes a job spans, and changes it", "leave it out; --max-gpus bounds the size"
	case "ntasks":
		return oneTask(value)
	case "ntasks-per-node", "tasks-per-node":
		return "only a Slurm operator can change it afterwards, so the job could not be resized", startOwn
	case "ntasks-per-gpu", "ntasks-per-tres":
		return "sluice starts the script once, whatever the number of GPUs", startOwn
	case "contiguous", "switches", "segment", "consolidate-segments", "spread-segments":
		return namesNodes, alike
	case "spread-job":
		return namesNodes, "leave it out; --max-gpus bounds the size"
	case "nodelist", "nodefile":
		return "sluice chooses the nodes, and a resize would write over this list", "leave it out; choose among nodes with --partition, --constraint or --exclude"
	case "constraint":
		return constraint(value)
	case "prefer":
		return "sluice names the nodes, and Slurm then requires on each of them what was only preferred", "leave it out; --constraint says what the nodes must have"
	case "batch":
		return "sluice names the nodes, and Slurm would not start the job if none of them has this feature", "leave it out; --constraint says what all nodes must have"
	case "distribution":
		return distribution(value)

	// Jobs that cannot be resized as one job.
	case "exclusive":
		return "it allocates whole nodes, with GPUs that the job does not use, and such a job can only grow by nodes",
			"leave it out; GPUs are never shared between jobs anyway"
	case "core-spec", "thread-spec":
		return "Slurm makes such a job exclusive: it gets whole nodes and can only grow by nodes", "leave it out"
	case "container", "container-id", "container-type":
		return inContainer, startContainer
	case "external":
		return "such a job has no script that sluice could start", "leave it out"

	// A resize is a requeue of a held job under the same id.
	case slurmsDeadline:
		return "a resize starts the job's time limit again, and Slurm removes a job that could then end after this deadline",
			"write it on a #SLUICE line, with --epochs or --steps"
	case "no-requeue":
		return "sluice resizes a job by requeueing it from its checkpoint", "leave it out"
	case "requeue":
		return requeue(value)
	case "open-mode":
		return openMode(value)
	case "priority":
		return "sluice orders waiting jobs by the priority that Slurm computes",
			"leave it out; --nice and --qos work"

	// The job's account and cluster.
	case "autocomplete":
		return "this asks sbatch for names of options and submits nothing", "run 'sbatch --autocomplete=...'"
	case "clusters", "cluster":
		return "sluice manages the jobs of one cluster", "run 'sluice submit' on a login node of that cluster"
	case "uid":
		return submitsAsCaller, "run 'sluice submit' as that user"
	case "gid":
		return submitsAsCaller, "run it under 'sg GROUP -c \"sluice submit ...\"'"
	case "checkpoint-dir":
		return "sluice sets where checkpoints go, a fresh directory for each",
			"leave it out; the program is told the directory each time it starts"
	}
	return "", ""
}

// countGPUs returns the size option with the same meaning.
func countGPUs(value string) (why, do string) {
	if sliced(value) {
		return "MIG slices cannot be resized: a program cannot use two slices as one GPU",
			"submit it with sbatch itself, or leave the type out for whole GPUs"
	}
	why, do = "sluice decides how many GPUs a job gets, and changes it", "give the range it can use: "+rangeFor(value)
	if kind := strings.TrimPrefix(gresName(value), "gpu"); len(kind) > 0 && strings.ContainsAny(kind[1:], ":=") {
		do += "; choose the type of GPU with --gpu-types"
	}
	return why, do
}

// sliced reports whether one of the types in a count is a profile of MIG slices:
// gpu:a100_3g.20gb:2.
func sliced(value string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(":=,", r) }), slurm.Slice)
}

// constraint refuses a constraint that sluice cannot evaluate: sluice names the job's
// nodes, and Slurm starts the job on these or not at all.
func constraint(value string) (why, do string) {
	_, err := slurm.ParseConstraint(value)
	var bad *slurm.ConstraintError
	if !errors.As(err, &bad) {
		return "", ""
	}
	return fmt.Sprintf("column %d of the constraint: %s", bad.Column, bad.Reason),
		`write features joined by "&" and "|", as a&(b|c), or [a|b] for nodes that all have the same`
}

// gresName removes the prefix of a generic resource's name.
func gresName(item string) string {
	return strings.TrimPrefix(strings.TrimPrefix(item, "gres:"), "gres/")
}

// rangeFor turns 4, a100:4 or gpu:a100:4 into size options.
func rangeFor(value string) string {
	n, err := strconv.Atoi(value[strings.LastIndexAny(value, ":=")+1:])
	if err != nil || n < 1 {
		return "--min-gpus=1 --max-gpus=N"
	}
	return fmt.Sprintf("--min-gpus=1 --max-gpus=%d (both %d for a fixed size)", n, n)
}

func gres(value string) (why, do string) {
	for _, item := range strings.Split(value, ",") {
		name := gresName(item)
		if name == "gpu" || strings.HasPrefix(name, "gpu:") || strings.HasPrefix(name, "gpu=") {
			return countGPUs(item)
		}
	}
	return "a resize rewrites the job's generic resources and would drop these", "leave it out"
}

func tresPerTask(value string) (why, do string) {
	for _, item := range strings.Split(value, ",") {
		if strings.HasPrefix(gresName(item), "gpu") {
			return countGPUs(item)
		}
	}
	return "", ""
}

func oneTask(value string) (why, do string) {
	if value == "1" {
		return "", ""
	}
	n, err := parseCount(value, 2)
	if err != nil {
		return "sluice starts the script once, whatever the number of GPUs", startOwn
	}
	return fmt.Sprintf("sluice starts the script once, and the number of its processes changes with its GPUs: %d tasks become at most %d GPUs with one process each", n, n),
		fmt.Sprintf(`leave it out, give --max-gpus=%d, and write in the script: srun "$SLUICE" ranks -- COMMAND`, n)
}

func distribution(value string) (why, do string) {
	if kind, _, _ := strings.Cut(value, ","); !strings.EqualFold(kind, "arbitrary") {
		return "", ""
	}
	return "Slurm does not allow changing the nodes of a job with this distribution", "leave it out"
}

func requeue(value string) (why, do string) {
	if value == "" {
		return "", ""
	}
	return "an expedited requeue cannot be held, and sluice resizes a job by requeueing and holding it", "leave it out"
}

func openMode(value string) (why, do string) {
	if value != "" && (value[0] == 'a' || value[0] == 'A') {
		return "", ""
	}
	return "a resize starts the script again, and truncate would delete the output of earlier runs", "leave it out: sluice appends"
}
