package nvml

import (
	"strconv"
	"strings"
)

// choice is which GPUs are the job's, as its environment says.
type choice struct {
	all     bool     // whatever the driver shows
	indices []int    // the driver's numbers
	names   []string // UUIDs of GPUs or slices, or beginnings of them
}

// maxChosen bounds the list: 16 GPUs of 7 slices are 112.
const maxChosen = 1024

// Variables are those by which Slurm, and containers, name the GPUs of a job; the
// first that is set counts.
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

// parseChoice reads one list. As CUDA does, it ends at the first entry that names
// nothing: "0,-1,1" is GPU 0 alone.
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

// picks reports whether the choice means the GPU or slice at this place among
// those the driver shows. shown is how many there are: where devices are
// constrained (cgroups, containers) a job is shown its own alone, numbered from 0
// whatever Slurm calls them, and then all are meant.
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
// allows, the beginning of it.
func (c choice) mentions(uuid string) bool {
	for _, name := range c.names {
		if uuid != "" && strings.HasPrefix(uuid, name) {
			return true
		}
	}
	return false
}
