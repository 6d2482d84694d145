package track

import (
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// Moves are the moves that have not been closed.
type Moves []elastic.Intent

// Known has the recorded jobs by number. If two had the same number, it has the later one.
type Known map[elastic.JobID]*Job

// lazyCurve is a curve made by Doubted. It is kept because a curve caches its answers.
type lazyCurve struct {
	from, Curve *speed.Curve
	idle        float64
	at          speed.Shape
}

// Settled returns the open moves with before replaced by after, or removed if keep is false.
func (open Moves) Settled(before, after elastic.Intent, keep bool) (out Moves) {
	for _, in := range open {
		switch {
		case in.ID != before.ID:
			out = append(out, in)
		case keep:
			out = append(out, after)
		}
	}
	return out
}

// JobFor returns the job of an intent. A job that is not in the snapshot has ended or lost its tag;
// it is returned as Ended, with what Slurm and its runner last reported of its run: the resize
// table needs that to tell a program that failed from a run whose stop slurmctld forgot.
func (of Known) JobFor(jobs []elastic.Job, in elastic.Intent, now time.Time) elastic.Job {
	for i := len(jobs) - 1; i >= 0; i-- {
		if jobs[i].ID == in.Job {
			return jobs[i]
		}
	}
	j := elastic.Job{ID: in.Job, Phase: elastic.Ended, State: "gone"}
	if js := of[in.Job]; js != nil {
		j.State, j.Restarts = js.Rec.State, js.Shown.Slurm.Restarts
		js.Mail.report(&j, now)
	}
	return j
}

// TokenOf is the token of the job with that number; "" = there is none.
func (of Known) TokenOf(id elastic.JobID) string {
	if js := of[id]; js != nil {
		return js.Rec.Token
	}
	return ""
}

// AnswersRequest reports whether the runner's status answers that request.
func AnswersRequest(word checkpoint.Runner, request string) bool {
	return word.Answer != nil && word.Answer.Request == request
}
