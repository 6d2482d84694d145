package engine

import "github.com/sluice-hpc/sluice/checkpoint"

// hearLast reads why a job that has ended did not end well. A job's folder that is
// gone, or no longer readable, says nothing.
func (e *Engine) hearLast(js *jobState) {
	word, ok, err := e.cfg.Mailbox.RunnerNow(js.rec.Token, js.rec.UID)
	if err != nil || !ok || word.State != checkpoint.Exited || word.Restarts < js.rec.Restarts {
		return
	}
	js.over.words, js.over.exit = word.LastWords, word.Exit
}
