package ranks

import (
	"strconv"
	"strings"
)

// usualGPUFiles is where the driver has the device file of a GPU.
const usualGPUFiles = "/dev/nvidia%d"

// GPUFiles returns the device files of the GPUs that Slurm gave the caller on
// this node, by the variables of its step or batch script; none where they do
// not say. SLUICE_GPU_FILES names other files: in it %d is the GPU's number and
// %n the node's name.
func GPUFiles(env map[string]string) (files []string) {
	pattern, list := env["SLUICE_GPU_FILES"], env["SLURM_JOB_GPUS"]
	if pattern == "" {
		pattern = usualGPUFiles
	}
	if underSrun(env) {
		list = env["SLURM_STEP_GPUS"] // a step inherits the first node's of the job
	}
	for id := range strings.SplitSeq(list, ",") {
		if n, err := strconv.Atoi(id); err == nil && n >= 0 {
			files = append(files, strings.NewReplacer("%d", strconv.Itoa(n), "%n", env["SLURMD_NODENAME"]).Replace(pattern))
		}
	}
	return files
}
