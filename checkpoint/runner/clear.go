package runner

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/process"
	"github.com/sluice-hpc/sluice/checkpoint/ranks"
)

// clear ends everything that the script left running, and waits until the job's GPUs on
// this node are free: remaining processes would train on beside the next run, or hold
// memory that the next job on the node needs. What cannot be ended is reported; each wait
// is bounded by a grace period.
func (r *run) clear() {
	if r.fence != nil {
		r.fence.net.end(r.Grace)
	}
	r.remains(r.family.KillAll(r.Grace))
	r.settleOutput()
	if r.fence != nil {
		r.fence.tally.settle(r.Grace)
	}
	held := process.Released(ranks.GPUFiles(r.vars), r.Grace, r.ours)
	if len(held) == 0 {
		r.held = ""
		return
	}
	if r.fence != nil { // the program names its processes
		r.say("GPUs of the job are still held at its end")
		return
	}
	words := make([]string, len(held))
	for i, h := range held {
		words[i] = fmt.Sprintf("%s by process %s", h.File, h.Process)
	}
	r.held = "still held at the end: " + strings.Join(words[:min(len(words), maxNamed)], ", ")
	r.say("GPUs %s", r.held)
}

// maxNamed bounds how many processes a message names.
const maxNamed = 8

// remains describes the processes that cannot be ended.
func (r *run) remains(left []process.Process) {
	if len(left) == 0 {
		return
	}
	words := make([]string, 0, maxNamed)
	for _, p := range left[:min(len(left), maxNamed)] {
		words = append(words, p.String())
	}
	r.say("%d processes of the script cannot be ended: %s", len(left), strings.Join(words, ", "))
}

// ours reports whether a process belongs to the job, by its Slurm variables: a process
// started by a step of the job is no descendant of the runner.
func (r *run) ours(pid int) bool {
	job := r.vars["SLURM_JOB_ID"]
	return job != "" && process.StartedWith(pid, "SLURM_JOB_ID="+job)
}

// abandoned: the daemon that runs the job on this node was killed. Slurm considers the
// node lost and may run the job elsewhere; two runs must not train.
func (r *run) abandoned() {
	r.lost = nil
	r.melt()
	r.say("the job's slurmstepd is gone: the job is ended here, as Slurm will run it elsewhere or not at all")
	r.happen(terminated{})
	if r.child == nil {
		return
	}
	r.endNetwork()
	r.remains(r.family.Drain(farewell, r.Grace, "srun"))
}

// farewell bounds the time in which a script that Slurm will not stop may save.
const farewell = 10 * time.Second
