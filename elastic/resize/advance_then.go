package resize

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// The consequences of the table in advance.go.

func wait(s situation, why reason.Reason) Next { return Next{Intent: s.in, Why: why} }

func waiting(why reason.Reason) func(situation) Next {
	return func(s situation) Next { return wait(s, why) }
}

func waitingInSlurm(s situation) Next {
	return wait(s, reason.InSlurm{Reason: s.job.Reason})
}

func closeNow(how elastic.Outcome, why reason.Reason) func(situation) Next {
	return func(s situation) Next { return Next{Intent: s.in, Close: how, Why: why} }
}

func abandon(why reason.Reason) func(situation) Next { return closeNow(elastic.Abandoned, why) }
func userWon(why reason.Reason) func(situation) Next { return closeNow(elastic.UserWon, why) }

func withdraw(how elastic.Outcome, why reason.Reason) func(situation) Next {
	return func(s situation) Next {
		return Next{Intent: s.in, Close: how, Why: why, Do: []elastic.Action{elastic.WithdrawRequest{Job: s.in.Job, Why: why}}}
	}
}

func withdrawAnswered(s situation) Next {
	return withdraw(elastic.Abandoned, reason.NotSaved{Error: s.job.Saved.Error})(s)
}

// closeEnded closes a move of a job that is over. For a cancelled job its user won; the
// request, if any, is removed with the job's outbox.
func closeEnded(s situation) Next {
	how := elastic.Lost
	if s.job.State == "CANCELLED" {
		how = elastic.UserWon
	}
	return Next{Intent: s.in, Close: how, Why: reason.JobEnded{State: s.job.State}}
}

func askCheckpoint(s situation) Next {
	next := Next{Intent: s.in, Why: reason.AskedToSave}
	next.Do = []elastic.Action{elastic.AskCheckpoint{
		Job: s.in.Job, Request: s.in.Request, To: s.in.To, Target: s.in.Target,
		Deadline: s.now.Add(grace(s)), Why: s.in.Cause, Stop: s.in.Kind != elastic.Save,
	}}
	next.Intent.Step, next.Intent.AskedAt = elastic.Asked, s.now
	return next
}

func noteCheckpoint(s situation) Next {
	next := Next{Intent: s.in, Again: true, Why: reason.CheckpointVerified{Checkpoint: s.job.Saved.Checkpoint}}
	next.Intent.Step, next.Intent.Checkpoint = elastic.Verified, s.job.Saved.Checkpoint
	next.Intent.SavedAt = savedAt(s)
	return next
}

// savedAt returns when the job saved. The job's own time is more precise than the time of
// polling, and is used if it is plausible.
func savedAt(s situation) time.Time {
	if at := s.job.Saved.Committed; at.After(s.in.AskedAt) && at.Before(s.now) {
		return at
	}
	return s.now
}

// requeue stops the job, and defers it at once: Slurm 20.11 and 22.05 set no begin time if the node
// is lost while the job is cleaned up there, and would then start it without GPUs.
func requeue(s situation) Next {
	next := Next{Intent: s.in, Why: reason.StoppedForMove, Do: append([]elastic.Action{elastic.Requeue{Job: s.in.Job}}, putOff(s)...)}
	next.Intent.RequeuedAt = s.now
	return next
}

// stopAgain goes back to the step before the stop, and records that BEFORE Slurm is asked, as in
// reviveLaunch. PendingAt stays: the run was seen stopped.
func stopAgain(s situation) Next {
	next := Next{Intent: s.in, Again: true, Why: reason.StoppedAgain}
	next.Intent.Step, next.Intent.ReleasedAt = elastic.Verified, time.Time{}
	return next
}

// Between is how far ahead the begin time of a job between two sizes is. If sluiced is gone, Slurm
// starts the job then, at the size that was written last. It is about Slurm's own requeue delay
// (121 s), and MUST be longer than the time that a cycle takes.
const Between = 2 * time.Minute

// putOff keeps the job from starting for now.
func putOff(s situation) []elastic.Action {
	return []elastic.Action{elastic.Defer{Job: s.in.Job, Until: s.now.Add(Between)}}
}

func deferFirst(s situation) Next {
	return Next{Intent: s.in, Why: reason.DeferredFirst, Do: putOff(s)}
}

func pending(s situation) Next {
	next := Next{Intent: s.in, Again: true, Why: reason.Pending}
	next.Intent.Step, next.Intent.PendingAt = elastic.Requeued, s.now
	return next
}

// closeSaved ends the move of a job that only had to save.
func closeSaved(s situation) Next {
	next := withdraw(elastic.Done, reason.SavedTrainsOn{Checkpoint: s.job.Saved.Checkpoint})(s)
	next.Intent.Checkpoint, next.Intent.SavedAt = s.job.Saved.Checkpoint, savedAt(s)
	return next
}

// closeParked ends the move of a job that was stopped to wait again. The start that follows
// finds its newest checkpoint by itself. A request that could not be withdrawn in time is for a
// run that is over, and has no effect on the next.
func closeParked(s situation) Next {
	next := Next{Intent: s.in, Close: elastic.Done, Why: reason.StoppedAfter{Checkpoint: s.in.Checkpoint}}
	next.Do = []elastic.Action{elastic.WithdrawRequest{Job: s.in.Job, Why: reason.MoveOver}}
	next.Intent.Step = elastic.Confirmed
	return next
}

func retarget(s situation) Next {
	next := Next{Intent: s.in, Again: true, Why: reason.Retargeted}
	next.Intent.Target = replacement(s)
	return next
}

func write(s situation) Next {
	next := Next{Intent: s.in, Again: true, Why: reason.SizeWritten}
	next.Do = []elastic.Action{elastic.Write{
		Job: s.in.Job, To: s.in.To, Target: s.in.Target, AnyNodes: s.in.AnyNodes, Checkpoint: s.in.Checkpoint, Defer: Between,
	}}
	next.Intent.Step = elastic.Written
	return next
}

func start(s situation) Next {
	next := Next{Intent: s.in, Why: reason.StartedNow, Do: []elastic.Action{elastic.LetStart{Job: s.in.Job, First: neverRan(s)}}}
	next.Intent.Step, next.Intent.ReleasedAt = elastic.Released, s.now
	return next
}

func started(s situation) Next {
	next := Next{Intent: s.in, Again: true, Why: reason.AlreadyStarted}
	next.Intent.Step, next.Intent.ReleasedAt = elastic.Released, s.now
	return next
}

// clearAway makes Slurm drop the place where the job ran.
func clearAway(s situation) Next {
	next := Next{Intent: s.in, Why: reason.Cleared, Do: []elastic.Action{elastic.RequeueLingering{Job: s.in.Job}}}
	next.Intent.RequeuedAt = s.now
	return next
}

// closeRevived ends a revival: what follows is an ordinary start.
func closeRevived(s situation) Next {
	next := Next{Intent: s.in, Close: elastic.Done, Why: reason.Revived}
	next.Intent.Step = elastic.Confirmed
	return next
}

// revive brings back a job that Slurm calls failed.
func revive(s situation) Next {
	next := Next{Intent: s.in, Why: reason.BroughtBack, Do: []elastic.Action{elastic.RequeueFailed{Job: s.in.Job}}}
	next.Intent.RequeuedAt = s.now
	return next
}

// reviveLaunch goes back to the step in which a job is brought back, since its launch failed. The
// step is recorded BEFORE Slurm is asked (toRevive): the answer may be lost, and a job that is
// then observed pending MUST NOT be taken for one that was released and is deferred again.
func reviveLaunch(s situation) Next {
	next := Next{Intent: s.in, Again: true, Why: reason.LaunchFailed}
	next.Intent.Step, next.Intent.Fallbacks = elastic.Verified, s.in.Fallbacks+1
	next.Intent.Restarts = s.job.Restarts
	next.Intent.Moved = s.now
	return next
}

// reviveStopped goes back to the same step for a job whose stop slurmctld forgot.
func reviveStopped(s situation) Next {
	next := Next{Intent: s.in, Again: true, Why: reason.StopForgotten}
	next.Intent.Step, next.Intent.Restarts = elastic.Verified, s.job.Restarts
	return next
}

func closeRunning(how elastic.Outcome) func(situation) Next {
	return func(s situation) Next {
		why := reason.Runs{On: s.job.Place}
		if s.job.GPUs() != s.in.Target.GPUs() {
			why.Meant = s.in.Target
		}
		switch {
		case s.job.Heartbeat.IsZero():
			why.Silent = true
		case s.job.Choosing && s.in.Checkpoint != "":
			why.Verifies = true
		case s.in.Checkpoint != "" && s.job.Resumed != s.in.Checkpoint:
			why.Elsewise, why.Resumed, why.Checkpoint = true, s.job.Resumed, s.in.Checkpoint
		}
		next := Next{Intent: s.in, Close: how, Why: why, Do: []elastic.Action{elastic.WithdrawRequest{Job: s.in.Job, Why: reason.MoveOver}}}
		next.Intent.Step = elastic.Confirmed
		return next
	}
}

// fallBack returns to the last good size and lets Slurm choose the nodes.
func fallBack(s situation) Next {
	next := Next{Intent: s.in, Do: putOff(s)}
	next.Why = reason.Late{Reason: s.job.Reason, Back: true}
	next.Intent.Step, next.Intent.Fallbacks = elastic.Requeued, s.in.Fallbacks+1
	next.Intent.AnyNodes, next.Intent.Target = true, s.in.From
	return next
}

// fallBackRefused is fallBack for a job that Slurm set aside: it does not start.
func fallBackRefused(s situation) Next {
	next := fallBack(s)
	next.Do, next.Refused = nil, true
	next.Why = reason.Unsatisfiable{Reason: s.job.Reason, Back: true}
	return next
}

func closeRefused(s situation) Next {
	next := closeNow(elastic.Fellback, reason.Unsatisfiable{Reason: s.job.Reason})(s)
	next.Refused = true
	return next
}

func giveUpTaken(s situation) Next {
	why := reason.TakenByOrdinary
	return Next{Intent: s.in, Close: elastic.Fellback, Why: why, Do: putOff(s)}
}

func giveUp(s situation) Next {
	why := reason.Late{Reason: s.job.Reason}
	return Next{Intent: s.in, Close: elastic.Fellback, Why: why, Do: putOff(s)}
}
