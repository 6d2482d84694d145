package track

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
	Of   int
	seen time.Time
}

// Listened reports whether the job ran when it was last seen.
func (js *Job) Listened() bool {
	return js.Shown.Seen && !js.Shown.Disown && js.Rec.Ended.IsZero() && js.Shown.Slurm.State == slurm.Running
}

// OverBy reports whether the runner's word says that the run that Slurm shows is over.
func (s *shown) OverBy(word checkpoint.Runner) bool {
	return word.State == checkpoint.Exited && current(word, s.Slurm)
}

// Ending reports whether a run that said it is over is still to be seen over in Slurm.
func (st *State) Ending(now time.Time) bool {
	if !st.Rules.Listen {
		return false
	}
	any := false
	for _, js := range st.Jobs {
		if !js.Listened() || !js.Mail.runner.ok || !js.Shown.OverBy(js.Mail.runner.word) {
			continue
		}
		if run := js.Mail.runner.word.Restarts + 1; js.Mail.Exited.Of != run {
			js.Mail.Exited = exited{Of: run, seen: now}
		}
		any = any || now.Sub(js.Mail.Exited.seen) < exitLook
	}
	return any
}
