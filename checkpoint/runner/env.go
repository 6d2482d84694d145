package runner

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-hpc/sluice/checkpoint/supervise"
)

// stale lists variables that sbatch stored at submit and srun reads as options: after a
// requeue with another size they make srun start the old number of tasks on the old
// number of GPUs. Without them srun starts one task on each node of the present
// allocation, with all GPUs that the job has there.
var stale = []string{
	"SLURM_GPUS", "SLURM_GPUS_PER_NODE", "SLURM_GPUS_PER_TASK", "SLURM_GPUS_PER_SOCKET",
	"SLURM_NTASKS", "SLURM_NPROCS", "SLURM_NTASKS_PER_NODE", "SLURM_NTASKS_PER_GPU", "SLURM_NTASKS_PER_TRES",
	"SLURM_NTASKS_PER_SOCKET", "SLURM_NTASKS_PER_CORE", "SLURM_TRES_PER_TASK", "SLURM_TRES_PER_NODE",
	"SLURM_CPUS_PER_GPU", "SLURM_MEM_PER_GPU",
}

// facts are the values that a run passes to its script.
type facts struct {
	job         int64
	jobDir      string
	request     string // path of the request passed on
	checkpoints string // directory
	resume      string // path of the checkpoint to resume; "" = start from zero
	restarts    int
	incarnation int
	where       where
	largest     int // maximum of GPUs of the job; 0 = unknown
	unit        string
	master      string
	port        int
	runner      int    // PID of the runner
	sluice      string // path of the program
	profile     string // WARMUP+STEPS of the measurement; "" = the speed is not measured
	array       Array
	python      string // directory of the training library; "" = none
	// overlap: Slurm still counts GPUs as used by a step that has ended; srun must start
	// others with --overlap.
	overlap bool
}

// environment returns the script's variables: the given ones without the stale, then the
// run's own. For the same input it returns the same, in a fixed order.
func environment(given []string, f facts) []string {
	vars := supervise.Vars(given)
	own := f.variables(vars)
	replaced := make(map[string]bool, len(own))
	for _, v := range own {
		replaced[v.name] = true
	}
	out := make([]string, 0, len(given)+len(own))
	for _, entry := range given {
		name, _, _ := strings.Cut(entry, "=")
		if !replaced[name] && !(f.jobDir != "" && outdated(name, vars)) {
			out = append(out, entry)
		}
	}
	for _, v := range own {
		// Outside a sluice job the variables of an outer job are only removed.
		if !v.jobOnly || f.jobDir != "" {
			out = append(out, v.name+"="+v.value)
		}
	}
	return out
}

// variable is one of the run's own.
type variable struct {
	name, value string
	jobOnly     bool // set in a job's folder only
}

func (f facts) variables(vars map[string]string) []variable {
	always := func(name, value string) variable { return variable{name: name, value: value} }
	job := func(name, value string) variable { return variable{name, value, true} }
	own := []variable{
		always("SLUICE", f.sluice),
		job("MASTER_ADDR", f.master),
		job("MASTER_PORT", strconv.Itoa(f.port)),
		job("SLUICE_JOB_ID", strconv.FormatInt(f.job, 10)),
		job("SLUICE_JOB_DIR", f.jobDir),
		job("SLUICE_REQUEST", f.request),
		job("SLUICE_CHECKPOINTS", f.checkpoints),
		job("SLUICE_RESUME", f.resume),
		job("SLUICE_RESTARTS", strconv.Itoa(f.restarts)),
		job("SLUICE_INCARNATION", strconv.Itoa(f.incarnation)),
		job("SLUICE_UNIT", f.unit),
		job("SLUICE_NODES", strconv.Itoa(max(1, len(f.where.hosts)))),
		job("SLUICE_GPUS", known(f.where.gpus)),
		job("SLUICE_SPLIT", splitWords(f.where.split)),
		job("SLUICE_GPU_TYPE", f.where.kind),
		job("SLUICE_MAX_GPUS", known(f.largest)),
		job("SLUICE_RUNNER", known(f.runner)),
		job("SLUICE_PROFILE_STEPS", f.profile),
	}
	own = append(own, f.array.variables(f.job)...)
	if vars["PET_MONITOR_INTERVAL"] == "" {
		// with torchrun's default of 5 s (until torch 2.3) it would notice its workers'
		// end late: dead time
		own = append(own, job("PET_MONITOR_INTERVAL", "0.5"))
	}
	if f.overlap {
		own = append(own, always("SLURM_OVERLAP", "1"))
	}
	if f.python != "" {
		own = append(own, always("SLUICE_PYTHON", f.python),
			// Last, so that an installed copy or the user's own takes precedence.
			always("PYTHONPATH", strings.TrimPrefix(vars["PYTHONPATH"]+":"+f.python, ":")))
	}
	return own
}

// known formats a count; an unknown one is empty.
func known(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func outdated(name string, vars map[string]string) bool {
	if name == "SLURM_CPUS_PER_TASK" || name == "SRUN_CPUS_PER_TASK" {
		// True if one task per node has all of the node's CPUs, as in a job submitted
		// with --cpus-per-task; else srun would bind to too few CPUs.
		return vars[name] != vars["SLURM_CPUS_ON_NODE"]
	}
	return slices.Contains(stale, name) || ofArray(name)
}
