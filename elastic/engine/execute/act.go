package execute

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/resize"
	"github.com/sluice-hpc/sluice/elastic/say"
	"github.com/sluice-hpc/sluice/slurm"
)

// maxRows bounds how many rows of the resize table a move passes in one cycle. No path through the
// table without a new observation is longer.
const maxRows = 4

// Executor carries out decisions and records them. It changes Slurm, the journal and jobs' folders,
// and updates the state with the results.
//
// It belongs to the goroutine of the cycle. All fields but Between are required. Nothing else in
// the engine writes to Slurm, the journal, the samples or the outboxes, so that the rules of this
// package hold for every effect.
type Executor struct {
	*track.State
	Slurm   slurm.Client
	Journal journal.Journal
	Samples journal.Samples
	Mail    observe.Mailbox
	Between func() // called before every effect; nil = not called
}

// Act advances moves as far as possible without a new observation. It reports whether anything was
// done, and whether a snapshot of the same observation may differ now. It uses the number of
// events for that, since every change of a job's state is also logged. If slurmctld goes down
// meanwhile, the remaining moves wait for the next cycle.
//
// moves MUST be in the journal, and in x.Open. snap MUST be of the present observation: the table
// judges a job by it, and an effect that was right for an older one may stop a run that has begun
// since. What a move frees or takes counts for the moves after it, which see the open ones as they
// are then. Errors are told and not returned: a move that fails does not keep others waiting.
func (x *Executor) Act(ctx context.Context, moves []elastic.Intent, snap elastic.Snapshot, now time.Time) (acted, stirred bool) {
	told := x.Count
	for _, in := range slices.Clone(moves) {
		snap.Intents = x.Open
		before := in
		in, keep, did, down := x.step(ctx, in, snap.Lent(), now)
		acted = acted || did
		stirred = stirred || !keep || !reflect.DeepEqual(before, in)
		x.Open = x.Open.Settled(before, in, keep)
		if down {
			break
		}
	}
	return acted, acted || stirred || x.Count != told
}

// step advances one move, or ends it if the job's tag was removed. The results are those of walk.
func (x *Executor) step(ctx context.Context, in elastic.Intent, snap elastic.Snapshot, now time.Time) (_ elastic.Intent, keep, did, down bool) {
	if js := x.ByID[in.Job]; js != nil && js.Shown.Disown {
		return in, !x.letGo(ctx, js, in, now), true, false
	}
	return x.walk(ctx, in, x.ByID.JobFor(snap.Jobs, in, now), snap, now)
}

// walk takes one move through the resize table until it has to wait, closes, or fails. keep: the
// move is still open; did: something was done; down: slurmctld is down.
//
//	                                  keep    did     down
//	it waits for an observation       true    -       false
//	it was closed                     false   true    false
//	the journal refused its end       true    true    false
//	the journal refused a step        true    -       false    (the move as before the step)
//	an effect failed                  ?       true    ?        (as failed returns)
//
// did is - where it depends on whether an effect came before. A begin time that could not be put
// off is not a failure if the run was stopped before it: the next cycle puts it off.
func (x *Executor) walk(ctx context.Context, in elastic.Intent, job elastic.Job, snap elastic.Snapshot, now time.Time) (_ elastic.Intent, keep, did, down bool) {
	for range maxRows {
		if x.Unread(in, now) || x.ByID.Unsure(in, now) {
			break
		}
		next := resize.Advance(in, job, snap)
		if next.Refused {
			x.NoteRefused(in, reason.SlurmSaid{Text: job.Reason}, next.Blameless, now)
		}
		if next.Obstacle != "" {
			x.NoteObstacle(in, next.Obstacle, now)
		}
		// The one case in which the journal comes BEFORE the effect: see closeFirst.
		if next.Close != "" && onlyWithdraws(next.Do) {
			return x.closeFirst(ctx, in, next, job, now)
		}
		for _, action := range next.Do {
			err := x.perform(ctx, action, job, now)
			if err != nil && defers(action) && track.StopsRun(next.Do[0]) {
				x.CouldNot(action, in.Job, err, now) // it is stopped all the same
				continue
			}
			if err != nil {
				keep, down = x.failed(ctx, in, action, err, now)
				return track.PerhapsDone(in, action, err, now), keep, true, down
			}
			did = true
		}
		if next.Close != "" {
			return in, !x.closeMove(ctx, next, now), true, false
		}
		if changed(in, next.Intent) {
			if err := x.Journal.Advance(ctx, next.Intent); err != nil {
				x.Tell(now, in.Job, "problem", "the journal did not take a step: "+err.Error())
				return in, true, did, false // the next cycle repeats the effect, which is harmless
			}
			x.Tell(now, in.Job, "step", fmt.Sprintf("R%d %s", next.Intent.Step, say.Reason(next.Why, now)), event.OfStep(next))
		}
		in = next.Intent
		if !next.Again {
			break
		}
		snap.Intents = replaced(snap.Intents, in)
	}
	return in, true, did, false
}

// letGo ends the move of a job whose user removed the tag: it withdraws the request, and lets the job
// start if it is deferred. It returns false while a stop may still be under way: if the
// request were withdrawn the program would continue, and the stop would lose that work.
func (x *Executor) letGo(ctx context.Context, js *track.Job, in elastic.Intent, now time.Time) bool {
	if track.PhaseOf(js.Shown.Slurm, now) == elastic.Running && in.BeingStopped(now) {
		return false
	}
	effects := []elastic.Action{elastic.WithdrawRequest{Job: in.Job, Why: reason.NoLongerOurs}}
	if js.Shown.Slurm.Deferred(now) && !js.Shown.Slurm.Completing {
		effects = append(effects, elastic.LetStart{Job: in.Job})
	}
	for _, a := range effects {
		if err := x.perform(ctx, a, elastic.Job{ID: in.Job}, now); err != nil {
			x.CouldNot(a, in.Job, err, now)
			return false
		}
	}
	next := resize.Next{Intent: in, Close: elastic.UserWon, Why: reason.TagRemoved}
	return x.closeMove(ctx, next, now)
}

// closeFirst closes a move in the journal BEFORE it withdraws the request. In the other order, a
// crash in between would leave an open move with the answer of a job that has continued
// training. A request that is left over is withdrawn by DoChores. If the journal does not
// record the end, the move stays open.
func (x *Executor) closeFirst(ctx context.Context, in elastic.Intent, next resize.Next, job elastic.Job, now time.Time) (_ elastic.Intent, keep, did, down bool) {
	if !x.closeMove(ctx, next, now) {
		return in, true, true, false
	}
	for _, action := range next.Do {
		if err := x.perform(ctx, action, job, now); err != nil {
			x.CouldNot(action, action.About(), err, now)
		}
	}
	return next.Intent, false, true, false
}

// Renumbered ends the move of a job whose number slurmctld, having lost the job, has given to
// another one. Moves identify their job by its number and would affect the other job.
//
// The caller MUST call it BEFORE it takes the other job in. After an error the move is still open,
// and the other job MUST NOT be taken in.
func (x *Executor) Renumbered(ctx context.Context, js *track.Job, now time.Time) error {
	for _, in := range slices.Clone(x.Open) {
		if in.Job != js.Rec.ID {
			continue
		}
		next := resize.Next{Intent: in, Close: elastic.Lost, Why: reason.NumberGiven}
		if !x.closeMove(ctx, next, now) {
			return errors.New("the journal does not take the end of a forgotten job's move, and its number is another job's")
		}
		x.Open = x.Open.Settled(in, in, false)
	}
	return nil
}

// onlyWithdraws reports whether a close has no effect but to withdraw requests; true if it has none
// at all.
func onlyWithdraws(actions []elastic.Action) bool {
	for _, a := range actions {
		if _, ok := a.(elastic.WithdrawRequest); !ok {
			return false
		}
	}
	return true
}

// changed reports whether the move has changed in a way that the journal must record. Its other
// fields are stored with the next of these.
func changed(a, b elastic.Intent) bool {
	return a.Step != b.Step || !a.RequeuedAt.Equal(b.RequeuedAt) || !a.ReleasedAt.Equal(b.ReleasedAt) || a.AnyNodes != b.AnyNodes || !a.Target.Equal(b.Target)
}

// replaced returns a copy of the moves with one of them in place of the one with its ID. The
// snapshot that the list came from is not changed.
func replaced(ins []elastic.Intent, in elastic.Intent) []elastic.Intent {
	out := make([]elastic.Intent, len(ins))
	for i, old := range ins {
		if out[i] = old; old.ID == in.ID {
			out[i] = in
		}
	}
	return out
}

// failed handles a failed effect. The effect is not repeated before the next observation.
//
//	slurmctld is down, or ctx has ended               kept; no other move is tried
//	a begin time was refused                          kept: the job may have started
//	bringing a failed or cancelled job back, refused  kept and tried again, or the job is lost
//	anything else, refused or not permitted           closed; from R4 on the refusal is noted
//	timeout, wrong state, no such job                 kept: the next observation decides
func (x *Executor) failed(ctx context.Context, in elastic.Intent, a elastic.Action, err error, now time.Time) (keep, down bool) {
	x.CouldNot(a, in.Job, err, now)
	js := x.ByID[in.Job]
	if js != nil {
		js.Tells.Problem["move"] = err.Error()
	}
	switch {
	case errors.Is(err, slurm.ErrControllerDown), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return true, true
	case errors.Is(err, slurm.ErrRefused) && defers(a):
		return true, false // the time has come while sluiced was held up: observe first
	case errors.Is(err, slurm.ErrPermission) && revives(a), errors.Is(err, slurm.ErrRefused) && revives(a) && in.Kind != elastic.Clearing,
		clears(a) && (errors.Is(err, slurm.ErrRefused) || errors.Is(err, slurm.ErrPermission)):
		// Try again for as long as the table does (toRevive, toClear): the job would be lost, or GPUs
		// would. A slurmctld that has just started may not know its operators yet. Of a clearing the
		// second half may be what was refused: the job is cancelled then.
		return true, false
	case errors.Is(err, slurm.ErrRefused), errors.Is(err, slurm.ErrPermission):
		if in.Step >= elastic.Requeued && !track.StopsRun(a) {
			x.NoteRefused(in, reason.SlurmSaid{Text: err.Error()}, false, now)
		}
		return !x.refused(ctx, in, a, err, now), false
	}
	return true, false // outcome unknown, wrong state or not found: observe first
}

// revives reports whether an action requeues a job that Slurm has marked as failed. Slurm purges
// such a job after MinJobAge.
func revives(a elastic.Action) bool {
	_, is := a.(elastic.RequeueFailed)
	return is
}

// clears reports whether an action clears a job of its last run: it is cancelled and brought back.
func clears(a elastic.Action) bool {
	_, is := a.(elastic.RequeueLingering)
	return is
}

// defers reports whether an action puts a job's begin time off.
func defers(a elastic.Action) bool {
	_, is := a.(elastic.Defer)
	return is
}

// refused closes a move that Slurm refused, and reports whether it is closed. A running job
// continues; a pending one gets a new placement.
//
// A request is withdrawn up to R3 only: from R4 on the run that would answer it is stopped. A
// withdrawal that fails never closes the move.
func (x *Executor) refused(ctx context.Context, in elastic.Intent, a elastic.Action, err error, now time.Time) bool {
	if _, ok := a.(elastic.WithdrawRequest); ok {
		return false
	}
	next := resize.Next{Intent: in, Close: elastic.Abandoned, Why: reason.SlurmSaid{Text: err.Error()}}
	if in.Step <= elastic.Verified {
		next.Do = []elastic.Action{elastic.WithdrawRequest{Job: in.Job, Why: reason.RefusedMove}}
	}
	_, keep, _, _ := x.closeFirst(ctx, in, next, elastic.Job{ID: in.Job}, now)
	return !keep
}

// closeMove records the end of a move and reports whether it is durable. If it is not, nothing in
// the state has changed, and the move MUST stay open there: the journal would return it after a
// restart. Removing it from x.Open is left to the caller.
func (x *Executor) closeMove(ctx context.Context, next resize.Next, now time.Time) bool {
	in := next.Intent
	if err := x.Journal.Close(ctx, in, next.Close, next.Why, now); err != nil {
		x.Tell(now, in.Job, "problem", "the journal did not take the end of a move: "+err.Error())
		return false
	}
	x.Tell(now, in.Job, "close", fmt.Sprintf("%s: %s", next.Close, say.Reason(next.Why, now)), event.OfClose(next))
	x.Closed(next, now)
	return true
}
