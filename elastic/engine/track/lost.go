package track

import (
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

// settling is for how long after a failure nothing is started on the node. Slurm still has to
// send a lost node the kill request for the previous run. A node that returns at once may
// receive it while the requeued job runs there, and Slurm then marks that run FAILED. Slurm
// itself delays a requeued job by two minutes for this reason.
const settling = 15 * time.Second

// owed is for how long Slurm may still send such a kill request. It repeats an undelivered one
// after a minute (RPC_RETRY_INTERVAL), and it reaches whichever run has the job's number then. An
// outage of slurmctld does not count (EndOutage).
const owed = 150 * time.Second

// lostNodes has, by node name, when a node was last seen lost.
type lostNodes map[string]time.Time

// lost are the node states in which Slurm ends the jobs on a node.
var lost = []string{"DOWN", "NOT_RESPONDING"}

// Note records the nodes that are lost now, and removes those last lost before owed. A node that is
// not in seen keeps its time until it is seen again.
func (l lostNodes) Note(seen []slurm.Node, now time.Time) {
	for _, n := range seen {
		for _, state := range lost {
			if n.Is(state) {
				l[n.Name] = now
			}
		}
		if at, ok := l[n.Name]; ok && !now.Before(at.Add(owed)) {
			delete(l, n.Name)
		}
	}
}

// delayUnexplained delays the next start of a job whose run ended without an exit status from its runner
// and not because of sluice. Most likely its node was lost, perhaps for less time than lies
// between two cycles.
func (open Moves) delayUnexplained(js *Job, now time.Time) {
	if js.Runs.Seg == nil || !js.Runs.Seg.Ended.IsZero() || open.stopped(js.Rec.ID) {
		return
	}
	word := js.Mail.runner.word
	if word.Restarts == js.Runs.Seg.Restarts && word.State != "" && word.State != checkpoint.Exited {
		js.Placing.rest = now.Add(settling)
	}
}

// stopped reports whether an open move of sluice's has requeued the job.
func (open Moves) stopped(id elastic.JobID) bool {
	for _, in := range open {
		if in.Job == id && !in.RequeuedAt.IsZero() {
			return true
		}
	}
	return false
}
