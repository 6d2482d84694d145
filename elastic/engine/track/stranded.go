package track

import (
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
)

// A job is brought back from a node that lost its processes at once the first time;
// each further time it waits strandedRest longer, at most strandedMost. It is the job's
// own word, and one that says it in every run must not keep slurmctld busy.
const (
	strandedRest = 5 * time.Minute
	strandedMost = time.Hour
)

// strandedNow reports whether a node lost what ran on it, Slurm has not noticed, and it is
// time to requeue the job.
func (js *Job) strandedNow(now time.Time) bool {
	word := js.Mail.runner.word
	if PhaseOf(js.Shown.Slurm) != elastic.Running || !js.Mail.runner.ok || !word.Stranded || word.Restarts != js.Shown.Slurm.Restarts {
		return false
	}
	s := &js.rescue.stranded
	if s.of == word.Restarts+1 {
		return true // Slurm was asked and has not done it
	}
	return !now.Before(s.last.Add(min(time.Duration(s.times)*strandedRest, strandedMost)))
}

// requeueStranded is the chore that follows. A run is requeued for it once, however
// often Slurm has to be asked. It is the one stop outside of any move, so it says why.
func (st *State) requeueStranded(js *Job, now time.Time) []elastic.Action {
	if s, run := &js.rescue.stranded, js.Mail.runner.word.Restarts+1; s.of != run {
		s.times, s.last, s.of = s.times+1, now, run
	}
	run := js.Mail.runner.word.Restarts
	st.Tell(now, js.Rec.ID, "stranded", fmt.Sprintf("run %d: its script is ended, and Slurm has not noticed that a node lost what ran there", run), event.Fields{RunFields: event.RunFields{Run: &run}})
	js.Placing.Hold = true
	return []elastic.Action{elastic.RequeueHold{Job: js.Rec.ID}}
}
