package track

import (
	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
)

// HeardLast takes in why a job that has ended did not end well. A job's folder that is
// gone, or no longer readable, says nothing.
func (js *Job) HeardLast(w observe.Word) {
	if w.Err != nil || !w.OK || w.Runner.State != checkpoint.Exited || w.Runner.Restarts < js.Rec.Restarts {
		return
	}
	js.Over.Words, js.Over.exit = w.Runner.LastWords, w.Runner.Exit
}
