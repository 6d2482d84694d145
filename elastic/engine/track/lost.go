package track

import (
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

// settling is how long after a failure nothing is started where it happened. Slurm
// still owes a lost node the word to end what ran there; a node that returns at once
// hears it when the job runs there again, which Slurm then calls FAILED. Slurm's own
// answer is to let a requeued job wait for two minutes.
const settling = 15 * time.Second

// owed is how long Slurm may still send such a word. What it could not deliver it sends
// again after a minute (RPC_RETRY_INTERVAL), to whatever has the job's number then.
const owed = 150 * time.Second

// lostNodes are nodes by when they were last seen lost.
type lostNodes map[string]time.Time

// lost are the states in which Slurm gives up what ran on a node.
var lost = []string{"DOWN", "NOT_RESPONDING"}

// Note remembers when nodes were last seen lost.
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

// mourn notes a run that ended without a word of its runner and not by sluice's
// doing: most likely its node was lost, perhaps for less time than lies between two
// looks. The job rests before it is started again.
func (open Moves) mourn(js *Job, now time.Time) {
	if js.Runs.Seg == nil || !js.Runs.Seg.Ended.IsZero() || open.stopped(js.Rec.ID) {
		return
	}
	word := js.Mail.runner.word
	if word.Restarts == js.Runs.Seg.Restarts && word.State != "" && word.State != checkpoint.Exited {
		js.Placing.rest = now.Add(settling)
	}
}

// stopped reports whether sluice itself asked Slurm to requeue the job.
func (open Moves) stopped(id elastic.JobID) bool {
	for _, in := range open {
		if in.Job == id && !in.RequeuedAt.IsZero() {
			return true
		}
	}
	return false
}
