package engine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/resize"
	"github.com/sluice-hpc/sluice/elastic/say"
	"github.com/sluice-hpc/sluice/slurm"
)

// maxRows bounds how many rows of the table one move may pass in one cycle;
// no path is longer.
const maxRows = 4

// act walks moves as far as they get without a new look at the world. It reports
// whether anything was done, and whether a snapshot of the same look may be another now:
// whatever changes what is known of a job is told as well. When Slurm goes away in the
// middle the rest waits for the next cycle.
func (e *Engine) act(ctx context.Context, moves []elastic.Intent, snap elastic.Snapshot, now time.Time) (acted, stirred bool) {
	told := e.told
	for _, in := range slices.Clone(moves) {
		snap.Intents = e.open
		before := in
		in, keep, did, down := e.step(ctx, in, snap.Lent(), now)
		acted = acted || did
		stirred = stirred || !keep || !reflect.DeepEqual(before, in)
		e.open = e.open.settled(before, in, keep)
		if down {
			break
		}
	}
	return acted, acted || stirred || e.told != told
}

// step takes one move onward, or lets go of a job its user took away.
func (e *Engine) step(ctx context.Context, in elastic.Intent, snap elastic.Snapshot, now time.Time) (_ elastic.Intent, keep, did, down bool) {
	if js := e.byID[in.Job]; js != nil && js.shown.disown {
		return in, !e.letGo(ctx, js, in, now), true, false
	}
	return e.walk(ctx, in, e.byID.jobFor(snap.Jobs, in), snap, now)
}

// settled is the open moves with a move's new standing, or without it.
func (open openMoves) settled(before, after elastic.Intent, keep bool) (out openMoves) {
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

// jobFor returns the job of an intent; one that left the snapshot has ended, or
// was taken away by its user.
func (of known) jobFor(jobs []elastic.Job, in elastic.Intent) elastic.Job {
	for i := len(jobs) - 1; i >= 0; i-- {
		if jobs[i].ID == in.Job {
			return jobs[i]
		}
	}
	j := elastic.Job{ID: in.Job, Phase: elastic.Ended, State: "gone"}
	if js := of[in.Job]; js != nil {
		j.State = js.rec.State
	}
	return j
}

// walk takes one move through the table until it has to wait, closes, or fails.
func (e *Engine) walk(ctx context.Context, in elastic.Intent, job elastic.Job, snap elastic.Snapshot, now time.Time) (_ elastic.Intent, keep, did, down bool) {
	for range maxRows {
		if e.unread(in, now) || e.byID.unsure(in, now) {
			break
		}
		next := resize.Advance(in, job, snap)
		if next.Refused {
			e.noteRefused(in, reason.SlurmSaid{Text: job.Reason}, next.Blameless, now)
		}
		if next.Obstacle != "" {
			e.noteObstacle(in, next.Obstacle, now)
		}
		if next.Close != "" && onlyWithdraws(next.Do) {
			return e.closeFirst(ctx, in, next, job, now)
		}
		for _, action := range next.Do {
			if err := e.perform(ctx, action, job, now); err != nil {
				keep, down = e.failed(ctx, in, action, err, now)
				return perhapsDone(in, action, err, now), keep, true, down
			}
			did = true
		}
		if next.Close != "" {
			return in, !e.closeMove(ctx, next, now), true, false
		}
		if changed(in, next.Intent) {
			if err := e.cfg.Journal.Advance(ctx, next.Intent); err != nil {
				e.event(now, in.Job, "problem", "the journal did not take a step: "+err.Error())
				return in, true, did, false // the effect is repeated next cycle, harmlessly
			}
			e.event(now, in.Job, "step", fmt.Sprintf("R%d %s", next.Intent.Step, say.Reason(next.Why, now)), fieldsOfStep(next))
		}
		in = next.Intent
		if !next.Again {
			break
		}
		snap.Intents = replaced(snap.Intents, in)
	}
	return in, true, did, false
}

// letGo ends the move of a job whose user took the tag away: the request goes,
// and a job that stands held by sluice's hand is released as it is. While a stop may be on
// its way the job waits: what it trained until then would be lost.
func (e *Engine) letGo(ctx context.Context, js *jobState, in elastic.Intent, now time.Time) bool {
	if phaseOf(js.shown.slurm) == elastic.Running && in.BeingStopped(now) {
		return false
	}
	effects := []elastic.Action{elastic.WithdrawRequest{Job: in.Job, Why: reason.NoLongerOurs}}
	if releasable(js.shown.slurm) {
		effects = append(effects, elastic.Release{Job: in.Job})
	}
	for _, a := range effects {
		if err := e.perform(ctx, a, elastic.Job{ID: in.Job}, now); err != nil {
			e.couldNot(a, in.Job, err, now)
			return false
		}
	}
	next := resize.Next{Intent: in, Close: elastic.UserWon, Why: reason.TagRemoved}
	return e.closeMove(ctx, next, now)
}

// closeFirst ends a move before its request is withdrawn: were it the other way
// round, a crash in between would let the answer of a job that trains on again
// count for the move. A request that stays behind is withdrawn as a chore.
// An end the journal does not take has not come: the move stands as before.
func (e *Engine) closeFirst(ctx context.Context, in elastic.Intent, next resize.Next, job elastic.Job, now time.Time) (_ elastic.Intent, keep, did, down bool) {
	if !e.closeMove(ctx, next, now) {
		return in, true, true, false
	}
	for _, action := range next.Do {
		if err := e.perform(ctx, action, job, now); err != nil {
			e.couldNot(action, action.About(), err, now)
		}
	}
	return next.Intent, false, true, false
}

func onlyWithdraws(actions []elastic.Action) bool {
	for _, a := range actions {
		if _, ok := a.(elastic.WithdrawRequest); !ok {
			return false
		}
	}
	return true
}

// changed reports whether the move has anything new to remember.
func changed(a, b elastic.Intent) bool {
	return a.Step != b.Step || !a.RequeuedAt.Equal(b.RequeuedAt) || !a.ReleasedAt.Equal(b.ReleasedAt) || a.AnyNodes != b.AnyNodes || !a.Target.Equal(b.Target)
}

func replaced(ins []elastic.Intent, in elastic.Intent) []elastic.Intent {
	out := make([]elastic.Intent, len(ins))
	for i, old := range ins {
		if out[i] = old; old.ID == in.ID {
			out[i] = in
		}
	}
	return out
}

// failed decides what a failed effect means. It never repeats blindly: the next
// cycle looks first.
func (e *Engine) failed(ctx context.Context, in elastic.Intent, a elastic.Action, err error, now time.Time) (keep, down bool) {
	e.couldNot(a, in.Job, err, now)
	js := e.byID[in.Job]
	if js != nil {
		js.tells.problem["move"] = err.Error()
	}
	switch {
	case errors.Is(err, slurm.ErrControllerDown), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return true, true
	case errors.Is(err, slurm.ErrPermission) && revives(a):
		return true, false // else it is lost; a slurmctld that has just started may not know its operators yet
	case errors.Is(err, slurm.ErrRefused), errors.Is(err, slurm.ErrPermission):
		if in.Step >= elastic.Requeued && !stops(a) {
			e.noteRefused(in, reason.SlurmSaid{Text: err.Error()}, false, now)
		}
		return !e.refused(ctx, in, a, err, now), false
	}
	return true, false // outcome unknown, wrong state, not found: look again
}

// revives reports whether an action brings back a job that Slurm calls failed. Slurm forgets
// such a job after its MinJobAge, and the table gives up before where it can.
func revives(a elastic.Action) bool {
	_, is := a.(elastic.Revive)
	return is
}

// refused closes a move Slurm will not carry out. A running job trains on; a
// held one is placed afresh.
func (e *Engine) refused(ctx context.Context, in elastic.Intent, a elastic.Action, err error, now time.Time) bool {
	if _, ok := a.(elastic.WithdrawRequest); ok {
		return false
	}
	next := resize.Next{Intent: in, Close: elastic.Abandoned, Why: reason.SlurmSaid{Text: err.Error()}}
	if in.Step <= elastic.Verified {
		next.Do = []elastic.Action{elastic.WithdrawRequest{Job: in.Job, Why: reason.RefusedMove}}
	}
	_, keep, _, _ := e.closeFirst(ctx, in, next, elastic.Job{ID: in.Job}, now)
	return !keep
}

func (of known) tokenOf(id elastic.JobID) string {
	if js := of[id]; js != nil {
		return js.rec.Token
	}
	return ""
}

// closeMove makes the end of a move durable and reports whether it is.
func (e *Engine) closeMove(ctx context.Context, next resize.Next, now time.Time) bool {
	in := next.Intent
	if err := e.cfg.Journal.Close(ctx, in, next.Close, next.Why, now); err != nil {
		e.event(now, in.Job, "problem", "the journal did not take the end of a move: "+err.Error())
		return false
	}
	e.event(now, in.Job, "close", fmt.Sprintf("%s: %s", next.Close, say.Reason(next.Why, now)), fieldsOfClose(next))
	js := e.byID[in.Job]
	if js == nil {
		return true
	}
	js.tells.last = reason.MoveClosed{Kind: string(in.Kind), From: in.From, Target: in.Target, Outcome: string(next.Close), Because: next.Why}
	js.dirty = true
	if next.Close == elastic.Done && in.Kind == elastic.Park {
		js.tells.parked = whyParked(in.Cause)
	}
	if next.Close == elastic.Done {
		delete(js.tells.problem, "move")
		if in.Kind == elastic.Resize && in.Fallbacks == 0 {
			js.placing.refused = elastic.Refused{}
		}
	}
	if next.Close == elastic.Fellback && !next.Refused {
		e.noteFallen(js, in, next.Why, now)
	}
	if in.Kind != elastic.Start && in.Kind != elastic.Save {
		js.rec.Moved = now
	}
	if in.Kind == elastic.Save && next.Close == elastic.Done {
		js.placing.took = max(in.SavedAt.Sub(in.AskedAt), time.Second)
	}
	answered := js.mail.runner.ok && js.mail.runner.word.Answer != nil && js.mail.runner.word.Answer.Request == in.Request && js.mail.runner.word.Answer.Checkpoint != ""
	if next.Close == elastic.Abandoned && in.Step == elastic.Asked && !answered && js.mail.unreadSince(now).IsZero() {
		js.rec.Deaf++
	}
	if next.Close == elastic.UserWon && next.Why == reason.HeldThroughSlurm {
		js.rec.Tag.Directive.Hold, js.told = true, true
	}
	if next.Close == elastic.Done || next.Close == elastic.Fellback {
		js.priceOf(in)
	}
	return true
}

// priceOf books what the move cost: the parts the daemon saw. The load part
// comes later, from the program's first word. A park shows two parts only, and no
// run that was paid for.
func (js *jobState) priceOf(in elastic.Intent) {
	if in.AskedAt.IsZero() || in.SavedAt.IsZero() || in.PendingAt.IsZero() || js.runs.seg == nil {
		return
	}
	if in.Kind == elastic.Park {
		known, times := &js.rec.Price, js.rec.Price.Measured
		known.Save = blend(known.Save, in.SavedAt.Sub(in.AskedAt), times)
		known.Drain = blend(known.Drain, in.PendingAt.Sub(in.SavedAt), times)
		return
	}
	p := &js.runs.seg.Price
	p.Save, p.Drain = in.SavedAt.Sub(in.AskedAt), in.PendingAt.Sub(in.SavedAt)
	if js.mail.runner.ok && js.mail.runner.word.FirstLine.After(in.PendingAt) {
		p.Start = js.mail.runner.word.FirstLine.Sub(in.PendingAt)
	}
	js.runs.segNew = true
	known, times := &js.rec.Price, js.rec.Price.Measured
	known.Save, known.Drain = blend(known.Save, p.Save, times), blend(known.Drain, p.Drain, times)
	if p.Start > 0 {
		known.Start = blend(known.Start, p.Start, times)
	}
	known.Measured++
}
