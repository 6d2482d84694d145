package elastic

import (
	"fmt"
	"time"
)

// The consequences of the table in advance.go.

func wait(s situation, why string) Next { return Next{Intent: s.in, Why: why} }

func waiting(why string) func(situation) Next {
	return func(s situation) Next { return wait(s, why) }
}

func waitingInSlurm(s situation) Next {
	return wait(s, "released; waits in Slurm: "+s.job.Reason)
}

func closeNow(how Outcome, why string) func(situation) Next {
	return func(s situation) Next { return Next{Intent: s.in, Close: how, Why: why} }
}

func abandon(why string) func(situation) Next { return closeNow(Abandoned, why) }
func userWon(why string) func(situation) Next { return closeNow(UserWon, why) }

func withdraw(how Outcome, why string) func(situation) Next {
	return func(s situation) Next {
		return Next{Intent: s.in, Close: how, Why: why, Do: []Action{WithdrawRequest{Job: s.in.Job, Why: why}}}
	}
}

func withdrawAnswered(s situation) Next {
	return withdraw(Abandoned, "the job could not save: "+s.job.Saved.Error)(s)
}

// closeEnded closes a move of a job that is over. A cancelled job's user won;
// the request, if any, is swept with the job's outbox.
func closeEnded(s situation) Next {
	how := Lost
	if s.job.State == "CANCELLED" {
		how = UserWon
	}
	return Next{Intent: s.in, Close: how, Why: "the job ended: " + s.job.State}
}

func askCheckpoint(s situation) Next {
	next := Next{Intent: s.in, Why: "asked to save"}
	next.Do = []Action{AskCheckpoint{
		Job: s.in.Job, Request: s.in.Request, To: s.in.To, Target: s.in.Target,
		Deadline: s.now.Add(grace(s)), Why: s.in.Cause, Stop: s.in.Kind != Save,
	}}
	next.Intent.Step, next.Intent.AskedAt = Asked, s.now
	return next
}

func noteCheckpoint(s situation) Next {
	next := Next{Intent: s.in, Again: true, Why: "checkpoint " + s.job.Saved.Checkpoint + " verified"}
	next.Intent.Step, next.Intent.Checkpoint = Verified, s.job.Saved.Checkpoint
	next.Intent.SavedAt = savedAt(s)
	return next
}

// savedAt is when the job saved. Its own clock is finer than our polling, and taken when
// it is sane.
func savedAt(s situation) time.Time {
	if at := s.job.Saved.Committed; at.After(s.in.AskedAt) && at.Before(s.now) {
		return at
	}
	return s.now
}

func requeue(s situation) Next {
	next := Next{Intent: s.in, Why: "stopped for its move", Do: []Action{RequeueHold{Job: s.in.Job}}}
	next.Intent.RequeuedAt = s.now
	return next
}

func holdFirst(s situation) Next {
	return Next{Intent: s.in, Why: "requeued without a hold", Do: []Action{HoldPending{Job: s.in.Job}}}
}

func pendingAndHeld(s situation) Next {
	next := Next{Intent: s.in, Again: true, Why: "pending and held"}
	next.Intent.Step, next.Intent.PendingAt = Requeued, s.now
	return next
}

// closeSaved ends the move of a job that only had to save.
func closeSaved(s situation) Next {
	next := withdraw(Done, "saved "+s.job.Saved.Checkpoint+"; trains on")(s)
	next.Intent.Checkpoint, next.Intent.SavedAt = s.job.Saved.Checkpoint, savedAt(s)
	return next
}

// closeParked ends the move of a job that was stopped to wait again. The start that
// follows finds its newest checkpoint by itself. A request that is not withdrawn, for
// want of time, is for a run that is over and means nothing to the next.
func closeParked(s situation) Next {
	next := Next{Intent: s.in, Close: Done, Why: "stopped after checkpoint " + s.in.Checkpoint + "; waits for its turn"}
	next.Do = []Action{WithdrawRequest{Job: s.in.Job, Why: "the move is over"}}
	next.Intent.Step = Confirmed
	return next
}

func retarget(s situation) Next {
	next := Next{Intent: s.in, Again: true, Why: "its GPUs were taken meanwhile; the same size elsewhere"}
	next.Intent.Target = replacement(s)
	return next
}

func write(s situation) Next {
	next := Next{Intent: s.in, Again: true, Why: "new size written"}
	next.Do = []Action{Write{
		Job: s.in.Job, To: s.in.To, Target: s.in.Target, AnyNodes: s.in.AnyNodes, Checkpoint: s.in.Checkpoint,
	}}
	next.Intent.Step = Written
	return next
}

func release(s situation) Next {
	next := Next{Intent: s.in, Why: "released", Do: []Action{Release{Job: s.in.Job}}}
	next.Intent.Step, next.Intent.ReleasedAt = Released, s.now
	return next
}

func released(s situation) Next {
	next := Next{Intent: s.in, Again: true, Why: "already released"}
	next.Intent.Step, next.Intent.ReleasedAt = Released, s.now
	return next
}

// clearAway makes Slurm forget where the job ran.
func clearAway(s situation) Next {
	next := Next{Intent: s.in, Why: "cleared of its last run", Do: []Action{Clear{Job: s.in.Job}}}
	next.Intent.RequeuedAt = s.now
	return next
}

// closeRevived ends a revival: what follows is a start as any other.
func closeRevived(s situation) Next {
	next := Next{Intent: s.in, Close: Done, Why: "brought back; starts again from its newest checkpoint"}
	next.Intent.Step = Confirmed
	return next
}

// revive brings back a job that Slurm calls failed.
func revive(s situation) Next {
	next := Next{Intent: s.in, Why: "brought back", Do: []Action{Revive{Job: s.in.Job}}}
	next.Intent.RequeuedAt = s.now
	return next
}

// reviveLaunch brings a job back whose launch failed, from the same checkpoint.
func reviveLaunch(s situation) Next {
	next := Next{Intent: s.in, Why: "the launch failed in Slurm; tried again", Do: []Action{Revive{Job: s.in.Job}}}
	next.Intent.Step, next.Intent.Fallbacks = Verified, s.in.Fallbacks+1
	next.Intent.Restarts, next.Intent.RequeuedAt = s.job.Restarts, s.now
	return next
}

func closeRunning(how Outcome) func(situation) Next {
	return func(s situation) Next {
		why := fmt.Sprintf("runs on %s", s.job.Place)
		if s.job.GPUs() != s.in.Target.GPUs() {
			why += fmt.Sprintf(", meant for %s", s.in.Target)
		}
		if s.job.Heartbeat.IsZero() {
			why += "; its runner has said nothing"
		} else if s.in.Checkpoint != "" && s.job.Resumed != s.in.Checkpoint {
			why += fmt.Sprintf(", resumed from %q instead of %q", s.job.Resumed, s.in.Checkpoint)
		}
		next := Next{Intent: s.in, Close: how, Why: why, Do: []Action{WithdrawRequest{Job: s.in.Job, Why: "the move is over"}}}
		next.Intent.Step = Confirmed
		return next
	}
}

// userHeld: held again after the release. Nobody but its user or an
// administrator did that.
func userHeld(s situation) Next {
	return Next{Intent: s.in, Close: UserWon, Why: UserHeldWhy}
}

// UserHeldWhy is the reason given when a job was held through Slurm after sluice
// had released it; the job then waits for its user.
const UserHeldWhy = "held through Slurm after its release; type scontrol release or sluice release"

// takeBack notes that sluice takes its release back, before it holds the job: a hold that
// is found later is its own then, however things stand by that time.
func takeBack(s situation) Next {
	next := Next{Intent: s.in, Again: true, Why: "its release is taken back"}
	next.Intent.ReleasedAt = time.Time{}
	return next
}

// fallBack returns to the last good size and lets Slurm choose the nodes.
func fallBack(s situation) Next {
	next := Next{Intent: s.in, Do: []Action{HoldPending{Job: s.in.Job}}}
	next.Why = "did not start in time (Slurm says " + s.job.Reason + "); back to the last good size"
	next.Intent.Step, next.Intent.Fallbacks = Requeued, s.in.Fallbacks+1
	next.Intent.AnyNodes, next.Intent.Target = true, s.in.From
	return next
}

// fallBackRefused is fallBack of a job that stands set aside: held as it is.
func fallBackRefused(s situation) Next {
	next := fallBack(s)
	next.Do, next.Refused = nil, true
	next.Why = "Slurm cannot satisfy the size as written (" + s.job.Reason + "); back to the last good size"
	return next
}

func closeRefused(s situation) Next {
	next := closeNow(Fellback, "Slurm cannot satisfy the size as written ("+s.job.Reason+"); placed afresh")(s)
	next.Refused = true
	return next
}

func giveUpTaken(s situation) Next {
	why := "the GPUs meant for it were taken by an ordinary job; placed afresh"
	return Next{Intent: s.in, Close: Fellback, Why: why, Do: []Action{HoldPending{Job: s.in.Job}}}
}

func giveUp(s situation) Next {
	why := "did not start in time (Slurm says " + s.job.Reason + "); placed afresh"
	return Next{Intent: s.in, Close: Fellback, Why: why, Do: []Action{HoldPending{Job: s.in.Job}}}
}
