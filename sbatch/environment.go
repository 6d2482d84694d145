package sbatch

import (
	"slices"
	"strings"
)

// variable is one environment variable that sbatch reads as an option.
type variable struct {
	name, option string
	// overruled: sluice's own option on the command line takes precedence over it, and a
	// site may set it for all users; so it gives a warning, not an error.
	overruled bool
}

// variables are those for options that sluice handles; all others are passed to sbatch
// unread.
var variables = []variable{
	{"SBATCH_ARRAY_INX", "array", false},
	{"SBATCH_BATCH", "batch", false},
	{"SBATCH_CLUSTERS", "clusters", false},
	{"SLURM_CLUSTERS", "clusters", false},
	{"SBATCH_COMMENT", "comment", false},
	{"SBATCH_CONSTRAINT", "constraint", false},
	{"SBATCH_CONTAINER", "container", false},
	{"SBATCH_CONTAINER_ID", "container-id", false},
	{"SBATCH_CORE_SPEC", "core-spec", false},
	{"SBATCH_CPUS_PER_GPU", "cpus-per-gpu", false},
	{"SBATCH_DISTRIBUTION", "distribution", false},
	{"SBATCH_EXCLUSIVE", "exclusive", false},
	{"SBATCH_GPUS", "gpus", false},
	{"SBATCH_GPUS_PER_NODE", "gpus-per-node", false},
	{"SBATCH_GPUS_PER_SOCKET", "gpus-per-socket", false},
	{"SBATCH_GPUS_PER_TASK", "gpus-per-task", false},
	{"SBATCH_GRES", "gres", false},
	{"SBATCH_IGNORE_PBS", "ignore-pbs", false},
	{"SBATCH_JOB_NAME", "job-name", false},
	{"SBATCH_MEM_PER_GPU", "mem-per-gpu", false},
	{"SBATCH_NO_REQUEUE", "no-requeue", true},
	{"SBATCH_OPEN_MODE", "open-mode", true},
	{"SBATCH_PARTITION", "partition", false},
	{"SBATCH_PREFER", "prefer", false},
	{"SBATCH_REQ_SWITCH", "switches", false},
	{"SBATCH_REQUEUE", "requeue", false},
	{"SBATCH_SEGMENT_SIZE", "segment", false},
	{"SBATCH_SPREAD_JOB", "spread-job", false},
	{"SBATCH_THREAD_SPEC", "thread-spec", false},
	{"SBATCH_TIMELIMIT", "time", false},
	{"SBATCH_TRES_PER_TASK", "tres-per-task", false},
	{"SBATCH_WAIT", "wait", false},
}

// environment is a look-up of variables.
type environment map[string]string

func readEnvironment(environ []string) environment {
	env := environment{}
	for _, entry := range environ {
		if !strings.HasPrefix(entry, "SBATCH_") && !strings.HasPrefix(entry, "SLUICE_") && !strings.HasPrefix(entry, "SLURM_") {
			continue
		}
		if name, value, ok := strings.Cut(entry, "="); ok {
			env[name] = value
		}
	}
	return env
}

// notInEnvironment are options of sluice without a variable. SLUICE_DATA is a folder inside of a confined job.
var notInEnvironment = append([]string{"checkpoint-dir", "code", "config", "data", "user"}, onlyService...)

// settings returns the options set in the environment, sbatch's variables before
// sluice's: SLUICE_MIN_GPUS stands for --min-gpus, and so on for each of sluice's
// options. An empty SLUICE_ variable sets nothing.
func (env environment) settings() (found []setting) {
	for _, v := range variables {
		value, ok := env[v.name]
		if o := byName(v.option); ok && (o.takes == valued || flagSet(value) || v.option == "exclusive") {
			found = append(found, fromVariable(v.name, value, *o))
		}
	}
	for i := range options {
		o := options[i]
		if o.is != own && o.is != shared || slices.Contains(notInEnvironment, o.name) {
			continue
		}
		// Inside a job these variables are set by the runner, or the lane, and describe that job.
		if _, inside := env["SLUICE_JOB_ID"]; inside && (o.name == "max-gpus" || o.name == "sweep" || o.name == "seed") {
			continue
		}
		name := "SLUICE_" + strings.ToUpper(strings.ReplaceAll(o.name, "-", "_"))
		if value := env[name]; value != "" {
			found = append(found, fromVariable(name, value, o))
		}
	}
	if value := env["SLUICE_PROFILE"]; value != "" {
		found = append(found, fromVariable("SLUICE_PROFILE", value, profiling))
	}
	return found
}

func fromVariable(name, value string, o option) setting {
	if o.name == "requeue" {
		value = "" // the variable's value only means yes
	}
	return setting{option: o, value: value, given: true, at: Place{Source: name}, words: []string{name + "=" + value}}
}

// overruled reports whether sluice's own options take precedence over the variable.
func overruled(name string) bool {
	for _, v := range variables {
		if v.name == name {
			return v.overruled
		}
	}
	return false
}

// Without returns the environment for sbatch, without the variables that sluice handles
// in sbatch's place.
func Without(environ []string) []string {
	out := make([]string, 0, len(environ))
	for _, entry := range environ {
		if !strings.HasPrefix(entry, "SBATCH_WAIT=") && !strings.HasPrefix(entry, "SBATCH_ARRAY_INX=") && !countsGPUs(entry) {
			out = append(out, entry)
		}
	}
	return out
}

// countsGPUs reports whether the variable is a count of GPUs, which is a fixed size.
func countsGPUs(entry string) bool {
	name, value, _ := strings.Cut(entry, "=")
	for _, v := range variables {
		if v.name == name {
			_, ok := counts(v.option, value)
			return ok
		}
	}
	return false
}
