package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

// wronged reports whether the run that failed was most likely ended by the word owed
// to an earlier one (see owed): somebody killed it, soon after the job or its node was
// lost. It is brought back once.
func (e *Engine) wronged(js *jobState, now time.Time) bool {
	if js.slurm.State != slurm.Failed || js.slurm.Completing || js.disown || js.revived > js.slurm.Restarts || !js.killed() {
		return false
	}
	if now.Before(js.rest.Add(owed - settling)) {
		return true
	}
	return slices.ContainsFunc(js.rec.Place.Nodes(), func(node string) bool {
		at, ok := e.lost[node]
		return ok && now.Before(at.Add(owed))
	})
}

// killed reports whether the last run did not end by itself, as far as its runner
// could tell: it had not said that its program ended, or a signal ended it. A job whose
// folder is gone tells nothing.
func (js *jobState) killed() bool {
	const signalled = 128 // a shell's exit code of a process ended by signal n is 128+n
	exit := js.runner.word.Exit
	if !js.runner.ok {
		return js.runner.word.State != ""
	}
	return exit == nil || exit.Signal != "" || exit.Code > signalled
}

// revivals are the moves that bring wronged jobs back.
func (e *Engine) revivals(now time.Time) []elastic.Intent {
	var out []elastic.Intent
	for _, js := range e.ordered() {
		if !js.seen || !js.rec.Ended.IsZero() || e.moves(js.rec.ID) || !e.wronged(js, now) {
			continue
		}
		js.revived = js.slurm.Restarts + 1
		to := js.rec.Tag.Incarnation + 1
		out = append(out, elastic.Intent{
			Job: js.rec.ID, Kind: elastic.Revival, Step: elastic.Verified, To: to, Restarts: js.slurm.Restarts,
			From: js.rec.Place, Cause: "its run was ended by what Slurm owed to one that was lost", Opened: now, Moved: now,
			Request: fmt.Sprintf("%d.%d.%d", js.rec.ID, to, now.UnixMilli()),
		})
	}
	return out
}

// moves reports whether the job has an open move.
func (e *Engine) moves(id elastic.JobID) bool {
	return slices.ContainsFunc(e.open, func(in elastic.Intent) bool { return in.Job == id })
}
