package runner

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/nodes"
)

// Trial says that the script is the run of a trial of a sweep. Its checkpoints belong to the sweep,
// and its runs are counted by itself: a lane runs many trials, and a trial runs in many lanes.
type Trial struct {
	Sweep int64 // the number of the sweep; 0 = the script is a job's
	Start int   // how often the trial was started, with this time
}

// String is the option's value: SWEEP.START.
func (t *Trial) String() string {
	if t.Sweep == 0 {
		return ""
	}
	return fmt.Sprintf("%d.%d", t.Sweep, t.Start)
}

// Set reads SWEEP.START.
func (t *Trial) Set(text string) error {
	first, second, _ := strings.Cut(text, ".")
	number, err := strconv.ParseInt(first, 10, 64)
	start, bad := strconv.Atoi(second)
	if err != nil || bad != nil || number < 1 || start < 1 || start > 1_000_000 {
		return fmt.Errorf("want SWEEP.START, as 4711.1")
	}
	*t = Trial{number, start}
	return nil
}

// Type names the value in help texts.
func (t *Trial) Type() string { return "SWEEP.START" }

// inherited is what the lane's runner knows of the GPUs that the trial has too. sluiced tells the lane's runner
// only, and on several nodes the trial's runner cannot count them.
func inherited(vars map[string]string) (t checkpoint.Target) {
	t.GPUs, _ = strconv.Atoi(vars["SLUICE_GPUS"]) // empty: not known
	t.Largest, _ = strconv.Atoi(vars["SLUICE_MAX_GPUS"])
	t.Type = vars["SLUICE_GPU_TYPE"]
	for word := range strings.SplitSeq(vars["SLUICE_SPLIT"], ",") {
		node, count, _ := strings.Cut(word, ":")
		n, err := strconv.Atoi(count)
		if err != nil || n < 1 || node == "" {
			t.Split = nil
			return t
		}
		t.Split = append(t.Split, nodes.Share{Node: node, GPUs: n})
	}
	return t
}
