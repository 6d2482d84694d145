package engine

import "github.com/sluice-hpc/sluice/checkpoint"

// heardLast takes in why a job that has ended did not end well. A job's folder that is
// gone, or no longer readable, says nothing.
func (js *jobState) heardLast(w word) {
	if w.err != nil || !w.ok || w.runner.State != checkpoint.Exited || w.runner.Restarts < js.rec.Restarts {
		return
	}
	js.over.words, js.over.exit = w.runner.LastWords, w.runner.Exit
}
