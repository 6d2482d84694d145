package engine

import (
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/slurm"
)

// exitLook is how long Slurm is asked every Transition whether a run is over whose
// runner has said so: Slurm still runs its epilog. It is the job's own word, so it is
// believed once for each run, and not for longer.
const exitLook = 15 * time.Second

// exited is which run, counted from 1, said that it was over, and when that was read.
type exited struct {
	of   int
	seen time.Time
}

// listened reports whether the job ran when it was last seen.
func (js *jobState) listened() bool {
	return js.shown.seen && !js.shown.disown && js.rec.Ended.IsZero() && js.shown.slurm.State == slurm.Running
}

func (s *shown) overBy(word checkpoint.Runner) bool {
	return word.State == checkpoint.Exited && current(word, s.slurm)
}

// ending reports whether a run that said it is over is still to be seen over in Slurm.
func (st *State) ending(now time.Time) bool {
	if !st.Rules.Listen {
		return false
	}
	any := false
	for _, js := range st.jobs {
		if !js.listened() || !js.mail.runner.ok || !js.shown.overBy(js.mail.runner.word) {
			continue
		}
		if run := js.mail.runner.word.Restarts + 1; js.mail.exited.of != run {
			js.mail.exited = exited{of: run, seen: now}
		}
		any = any || now.Sub(js.mail.exited.seen) < exitLook
	}
	return any
}
