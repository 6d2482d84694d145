package track

import (
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/resize"
	"github.com/sluice-hpc/sluice/slurm"
)

// A job whose node lost its processes is requeued at once the first time. Each further time it
// waits strandedRest longer, at most strandedMost: the report is the job's own, and a job that
// repeats it in every run must not keep slurmctld busy.
const (
	strandedRest = 5 * time.Minute
	strandedMost = time.Hour
)

// stranded counts the requeues of a job because a node lost its processes.
type stranded struct {
	times int
	last  time.Time
	of    int // the run after which it was requeued last, counted from 1
}

// stopped reports whether sluice requeued the failed run because it was stranded. slurmctld, which was
// killed before it saved the requeue, takes the script's end by its signal for a failure; it may count
// fewer restarts than there were. A daemon that was restarted since then believes the runner once.
func (s stranded) stopped(by runnerWord, sj slurm.Job) bool {
	return s.of > sj.Restarts || s.times == 0 && by.ok && by.word.Stranded
}

// strandedNow reports whether the runner says that a node lost the job's processes, Slurm has not
// noticed, and the job's requeue is due.
func (js *Job) strandedNow(now time.Time) bool {
	word := js.Mail.runner.word
	if PhaseOf(js.Shown.Slurm, now) != elastic.Running || !js.Mail.runner.ok || !word.Stranded || word.Restarts != js.Shown.Slurm.Restarts {
		return false
	}
	s := &js.rescue.stranded
	if s.of == word.Restarts+1 {
		return true // the requeue was sent and has had no effect yet
	}
	return !now.Before(s.last.Add(min(time.Duration(s.times)*strandedRest, strandedMost)))
}

// requeueStranded returns the action that requeues a stranded job. A run counts once, even if the
// action must be repeated. It is the only stop outside of a move, so it is logged with its reason.
// The begin time follows the requeue, so that the job is placed again and does not start where the
// node was lost.
func (st *State) requeueStranded(js *Job, now time.Time) []elastic.Action {
	if s, run := &js.rescue.stranded, js.Mail.runner.word.Restarts+1; s.of != run {
		s.times, s.last, s.of = s.times+1, now, run
	}
	run := js.Mail.runner.word.Restarts
	st.Tell(now, js.Rec.ID, "stranded", fmt.Sprintf("run %d: its script is ended, and Slurm has not noticed that a node lost what ran there", run), event.Fields{RunFields: event.RunFields{Run: &run}})
	return []elastic.Action{elastic.Requeue{Job: js.Rec.ID}, elastic.Defer{Job: js.Rec.ID, Until: now.Add(resize.Between)}}
}
