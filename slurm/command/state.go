package command

import (
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// squeue prints one word for a job's state. Where a flag is set the flag's word
// hides the base state; flagStates says what lies beneath.
var flagStates = map[string]slurm.State{
	"CONFIGURING":   slurm.Running, // nodes allocated, being prepared
	"POWER_UP_NODE": slurm.Running,
	"RESIZING":      slurm.Running,
	"SIGNALING":     slurm.Running,
	"STOPPED":       slurm.Running, // by SIGSTOP; still holds its resources
	"REQUEUED":      slurm.Pending,
	"REQUEUE_HOLD":  slurm.Pending,
	"REQUEUE_FED":   slurm.Pending,
	"SPECIAL_EXIT":  slurm.Pending,
	"RESV_DEL_HOLD": slurm.Pending,
	"EXPEDITING":    slurm.Pending,
	"LAUNCH_FAILED": slurm.Pending,
	"RECONFIG_FAIL": slurm.Failed,
	"OUT_OF_ME+":    slurm.OutOfMemory, // older releases cut the word
	"OUT_OF_MEMORY": slurm.OutOfMemory,
	"PENDING":       slurm.Pending,
	"RUNNING":       slurm.Running,
	"SUSPENDED":     slurm.Suspended,
	"COMPLETED":     slurm.Completed,
	"CANCELLED":     slurm.Cancelled,
	"FAILED":        slurm.Failed,
	"TIMEOUT":       slurm.Timeout,
	"NODE_FAIL":     slurm.NodeFail,
	"PREEMPTED":     slurm.Preempted,
	"BOOT_FAIL":     slurm.BootFail,
	"DEADLINE":      slurm.Deadline,
}

// jobState is a state word read with the times around it.
type jobState struct {
	base       slurm.State
	completing bool
	requeued   bool
}

// readState turns squeue's word into the base state and flags. COMPLETING says
// that the last run is being cleaned away, and hides whether the job has ended
// or was requeued and is pending again. A requeued job has used no time of its
// next run, and its end is unknown or exactly its limit after its start. An
// ended one ended at some second, and how is not told until the cleaning is
// over: Unknown, so that it is left alone until then.
func readState(word string, used time.Duration, start, end time.Time, limit time.Duration) jobState {
	if word == "COMPLETING" || word == "STAGE_OUT" {
		if used == 0 && (end.IsZero() || (limit != 0 && end.Equal(start.Add(limit)))) {
			return jobState{base: slurm.Pending, completing: true, requeued: true}
		}
		return jobState{base: slurm.Unknown, completing: true}
	}
	base, ok := flagStates[word]
	if !ok {
		return jobState{base: slurm.Unknown}
	}
	return jobState{base: base, requeued: strings.HasPrefix(word, "REQUEUE")}
}
