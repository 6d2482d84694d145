package track

import (
	"errors"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/slurm"
)

// Mine reports whether the engine looks after the job. One that its user moved to a
// partition without sluice stays looked after: left out it would count as missing
// from Slurm's answer, and enough of those would leave every cycle blind.
func (st *State) Mine(sj slurm.Job) bool {
	if st.Rules.Mine == nil || st.Rules.Mine(sj) {
		return true
	}
	js := st.ByID[elastic.JobID(sj.ID)]
	return js != nil && js.Rec.UID == sj.UID && js.Rec.Ended.IsZero()
}

// leave says once why a job is left alone: its user may have a thousand of them.
func (st *State) leave(sj slurm.Job, now time.Time, why string, fields ...event.Fields) {
	if st.strange.before[sj.ID] != why {
		st.Tell(now, elastic.JobID(sj.ID), "problem", why, fields...)
	}
	st.strange.now[sj.ID] = why
}

// squats says why the job is not taken up: its token is another user's, or whose it is cannot
// be seen yet; "" = it is its own. err is what reading its folder came to. Everybody can see the name of a job's folder before its
// job is there, and could hand in one that carries it first; the true one would then be left
// alone for ever.
func squats(err error) string {
	var late *observe.Unanswered
	switch {
	case errors.Is(err, checkpoint.ErrOwner):
		return "its comment carries a token whose folder belongs to another user; left alone"
	case errors.As(err, &late):
		return late.Error() + "; it is taken up once it answers"
	}
	return ""
}

// is reports whether the job that Slurm shows is the one on record, whatever its comment
// says: comments are in its user's hands, and number, user and submit time are not. A
// requeue renews the submit time and counts as a restart. So a later submit without one
// more restart is that of another job: slurmctld forgot the first and gave its number
// again.
func (js *Job) is(sj slurm.Job) bool {
	if js.Rec.ID != elastic.JobID(sj.ID) || js.Rec.UID != sj.UID {
		return false
	}
	submitted, restarts := js.Rec.Submitted, max(js.Rec.Restarts, 0)
	if js.Shown.Slurm.ID == sj.ID && !js.Shown.Slurm.Submit.IsZero() {
		submitted, restarts = js.Shown.Slurm.Submit, js.Shown.Slurm.Restarts
	}
	return sj.Restarts > restarts || !sj.Submit.After(submitted)
}

// rewritten notes a job whose comment carries another token than it was submitted with.
// It is an error of that job alone: it goes on under its last good spec, and no record is
// made of the other token.
func (st *State) rewritten(js *Job, sj slurm.Job, now time.Time) {
	st.livesAgain(js, sj, now)
	if !js.Shown.rewrote && js.Rec.Ended.IsZero() {
		st.Tell(now, js.Rec.ID, "problem", "the id in its comment was changed; its last good comment stands")
	}
	js.Shown.Seen, js.Shown.Disown, js.Shown.Slurm, js.Shown.rewrote = true, false, sj, true
	js.Tells.Problem["comment"] = "the id in the job's comment was changed; its last good comment stands"
}

// Another reports whether Slurm shows another job under the number of the one on record.
func Another(js *Job, sj slurm.Job) bool {
	if js.Rec.UID != sj.UID {
		return true
	}
	tag, err := elastic.ParseTag(sj.Comment)
	return err == nil && tag.Spec.Token != js.Rec.Token && !js.is(sj)
}
