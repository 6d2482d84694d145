package ranks

import (
	"strconv"
	"strings"
)

// usualGPUFiles is the path of the driver's device file of a GPU.
const usualGPUFiles = "/dev/nvidia%d"

// GPUFiles returns the device files of the GPUs that Slurm gave to the caller on this
// node, from the variables of its step or batch script; none if they are not set.
// SLUICE_GPU_FILES names other files: %d in it is the GPU's index and %n the node's name.
func GPUFiles(env map[string]string) (files []string) {
	pattern, list := env["SLUICE_GPU_FILES"], env["SLURM_JOB_GPUS"]
	if pattern == "" {
		pattern = usualGPUFiles
	}
	if underSrun(env) {
		list = env["SLURM_STEP_GPUS"] // a step inherits the job's variables, which are those of the first node
	}
	for id := range strings.SplitSeq(list, ",") {
		if n, err := strconv.Atoi(id); err == nil && n >= 0 {
			files = append(files, strings.NewReplacer("%d", strconv.Itoa(n), "%n", env["SLURMD_NODENAME"]).Replace(pattern))
		}
	}
	return files
}
