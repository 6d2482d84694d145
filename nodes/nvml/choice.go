package nvml

import (
	"strconv"
	"strings"
)

// choice is the set of the job's GPUs, as its environment gives it.
type choice struct {
	all     bool     // all that the driver shows
	indices []int    // the driver's indices
	names   []string // UUIDs of GPUs or slices, or prefixes of them
}

// maxChosen bounds the list: 16 GPUs of 7 slices are 112.
const maxChosen = 1024

// Variables are the environment variables by which Slurm and containers name the GPUs of
// a job; the first that is set is used.
var Variables = []string{"CUDA_VISIBLE_DEVICES", "SLURM_STEP_GPUS", "SLURM_JOB_GPUS", "NVIDIA_VISIBLE_DEVICES"}

// chosen reads the Variables. None = no GPUs.
func chosen(env map[string]string) choice {
	for _, name := range Variables {
		if list, said := env[name]; said {
			return parseChoice(list)
		}
	}
	return choice{}
}

// parseChoice reads one list. As in CUDA, it ends at the first invalid entry: "0,-1,1" is
// GPU 0 only.
func parseChoice(list string) choice {
	var c choice
	for entry := range strings.SplitSeq(list, ",") {
		entry = strings.TrimSpace(entry)
		n, err := strconv.Atoi(entry)
		switch {
		case len(c.indices)+len(c.names) >= maxChosen:
			return c
		case entry == "all":
			return choice{all: true}
		case err == nil && n >= 0 && n < 4096:
			c.indices = append(c.indices, n)
		case strings.HasPrefix(entry, "GPU-"), strings.HasPrefix(entry, "MIG-"):
			c.names = append(c.names, entry)
		default: // "NoDevFiles", "-1", "void", "none", nothing
			return c
		}
	}
	return c
}

func (c choice) none() bool { return !c.all && len(c.indices)+len(c.names) == 0 }

// picks reports whether the choice includes the GPU or slice at this index among those
// the driver shows. shown is their number: if devices are constrained (cgroups,
// containers) a job sees only its own, numbered from 0 whatever Slurm's numbers are, and
// then all are included.
func (c choice) picks(index int, uuid string, shown int) bool {
	if c.all || len(c.indices) > 0 && len(c.indices) >= shown {
		return true
	}
	for _, n := range c.indices {
		if n == index {
			return true
		}
	}
	return c.mentions(uuid)
}

// mentions reports whether the choice names a GPU or slice, by its UUID or, as CUDA
// allows, by a prefix of it.
func (c choice) mentions(uuid string) bool {
	for _, name := range c.names {
		if uuid != "" && strings.HasPrefix(uuid, name) {
			return true
		}
	}
	return false
}
