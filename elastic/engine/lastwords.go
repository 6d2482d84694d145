package engine

import (
	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
)

// heardLast takes in why a job that has ended did not end well. A job's folder that is
// gone, or no longer readable, says nothing.
func (js *jobState) heardLast(w observe.Word) {
	if w.Err != nil || !w.OK || w.Runner.State != checkpoint.Exited || w.Runner.Restarts < js.rec.Restarts {
		return
	}
	js.over.words, js.over.exit = w.Runner.LastWords, w.Runner.Exit
}
