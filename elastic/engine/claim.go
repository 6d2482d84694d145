package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/resize"
	"github.com/sluice-hpc/sluice/slurm"
)

// mine reports whether the engine looks after the job. One that its user moved to a
// partition without sluice stays looked after: left out it would count as missing
// from Slurm's answer, and enough of those would leave every cycle blind.
func (e *Engine) mine(sj slurm.Job) bool {
	if e.cfg.Mine == nil || e.cfg.Mine(sj) {
		return true
	}
	js := e.byID[elastic.JobID(sj.ID)]
	return js != nil && js.rec.UID == sj.UID && js.rec.Ended.IsZero()
}

// leave says once why a job is left alone: its user may have a thousand of them.
func (e *Engine) leave(sj slurm.Job, now time.Time, why string, fields ...Fields) {
	if e.strange.before[sj.ID] != why {
		e.event(now, elastic.JobID(sj.ID), "problem", why, fields...)
	}
	e.strange.now[sj.ID] = why
}

// squats says why the job is not taken up: its token is another user's, or whose it is cannot
// be seen yet; "" = it is its own. Everybody can see the name of a job's folder before its
// job is there, and could hand in one that carries it first; the true one would then be left
// alone for ever.
func (e *Engine) squats(sj slurm.Job, tag elastic.Tag) string {
	_, _, err := e.cfg.Mailbox.Runner(tag.Spec.Token, sj.UID)
	var late *Unanswered
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
func (js *jobState) is(sj slurm.Job) bool {
	if js.rec.ID != elastic.JobID(sj.ID) || js.rec.UID != sj.UID {
		return false
	}
	submitted, restarts := js.rec.Submitted, max(js.rec.Restarts, 0)
	if js.shown.slurm.ID == sj.ID && !js.shown.slurm.Submit.IsZero() {
		submitted, restarts = js.shown.slurm.Submit, js.shown.slurm.Restarts
	}
	return sj.Restarts > restarts || !sj.Submit.After(submitted)
}

// rewritten notes a job whose comment carries another token than it was submitted with.
// It is an error of that job alone: it goes on under its last good spec, and no record is
// made of the other token.
func (e *Engine) rewritten(js *jobState, sj slurm.Job, now time.Time) {
	e.livesAgain(js, sj, now)
	if !js.shown.rewrote && js.rec.Ended.IsZero() {
		e.event(now, js.rec.ID, "problem", "the id in its comment was changed; its last good comment stands")
	}
	js.shown.seen, js.shown.disown, js.shown.slurm, js.shown.rewrote = true, false, sj, true
	js.tells.problem["comment"] = "the id in the job's comment was changed; its last good comment stands"
}

// another reports whether Slurm shows another job under the number of the one on record.
func another(js *jobState, sj slurm.Job) bool {
	if js.rec.UID != sj.UID {
		return true
	}
	tag, err := elastic.ParseTag(sj.Comment)
	return err == nil && tag.Spec.Token != js.rec.Token && !js.is(sj)
}

// renumbered ends the move of a job whose number is another's by now: slurmctld forgot it.
// Moves know their job by its number, and would go on with the other one.
func (e *Engine) renumbered(ctx context.Context, js *jobState, now time.Time) error {
	for _, in := range slices.Clone(e.open) {
		if in.Job != js.rec.ID {
			continue
		}
		next := resize.Next{Intent: in, Close: elastic.Lost, Why: reason.NumberGiven}
		if !e.closeMove(ctx, next, now) {
			return errors.New("the journal does not take the end of a forgotten job's move, and its number is another job's")
		}
		e.open = e.open.settled(in, in, false)
	}
	return nil
}
