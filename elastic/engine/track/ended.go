package track

import (
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/slurm"
)

// exitLook is for how long Slurm is queried every Transition after a runner reported that its
// run is over, while Slurm still runs its epilog. The report is the job's own, so that it has
// this effect once a run.
const exitLook = 15 * time.Second

// exited is the run, counted from 1, that reported its end, and when that was first read.
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

// Ending reports whether a runner said less than exitLook ago that its run is over, and Slurm
// does not show that yet. It notes when the report was first seen, so that one run has this effect
// for exitLook in all.
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
