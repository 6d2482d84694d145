package track

import (
	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
)

// HeardLast stores the runner's last status of an ended job: its exit and why it failed. It
// changes nothing if the folder is gone or cannot be read.
func (js *Job) HeardLast(w observe.Word) {
	if w.Err != nil || !w.OK || w.Runner.State != checkpoint.Exited || w.Runner.Restarts < js.Rec.Restarts {
		return
	}
	js.Over.Words, js.Over.exit = w.Runner.LastWords, w.Runner.Exit
}
