package resize

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/nodes"
)

// The conditions of the table in advance.go.

func always(situation) bool  { return true }
func ended(s situation) bool { return s.job.Phase == elastic.Ended }
func notRunning(s situation) bool {
	return s.job.Phase != elastic.Running && s.job.Phase != elastic.Suspended
}

// userHolds: held while running, through Slurm or through sluice. A move would
// stop the job and leave it held; a save stops nothing.
func userHolds(s situation) bool {
	return s.in.Kind != elastic.Save && s.job.Phase == elastic.Running && (s.job.UserHold || s.job.Directive.Hold)
}

// superseded: a later move's incarnation stands on the job. The journal was put back
// from an older copy, and this move was over long ago.
func superseded(s situation) bool { return s.job.Incarnation > s.in.To }

// ranAlready: so was it, and nothing followed. Only the word of a run that is over
// counts: a job that runs could keep every move away from itself.
func ranAlready(s situation) bool { return s.job.Phase == elastic.Held && s.job.RunnerOf >= s.in.To }

// unreachable: nothing can be told to the job, nor heard of it.
func unreachable(s situation) bool { return !s.job.Unread.IsZero() }

func heldByDirective(s situation) bool { return s.job.Phase == elastic.Held && s.job.Directive.Hold }

// runsAlready: a revival never stops a job.
func runsAlready(s situation) bool { return bringsBack(s) && s.job.Phase == elastic.Running }

// revives: the job was ended wrongly, or for its own good, and is back.
func revives(s situation) bool { return bringsBack(s) && s.job.Phase == elastic.Held && !s.job.Lingers }

// bringsBack: all that the move is for is that the job waits as any other.
func bringsBack(s situation) bool {
	return s.in.Kind == elastic.Revival || s.in.Kind == elastic.Clearing
}

// lingers: what a crash of a node leaves behind that came while the job was cleaned away.
func lingers(s situation) bool { return s.job.Phase == elastic.Held && s.job.Lingers }

// savedOnly: all that the move was for is a checkpoint.
func savedOnly(s situation) bool { return s.in.Kind == elastic.Save && answeredWell(s) }

// parks: the job gives up its GPUs, and has done so.
func parks(s situation) bool { return s.in.Kind == elastic.Park && s.job.Phase == elastic.Held }

func is(p elastic.Phase) func(situation) bool {
	return func(s situation) bool { return s.job.Phase == p }
}

func restartedSince(s situation) bool {
	return s.job.Phase == elastic.Running && s.job.Restarts > s.in.Restarts
}

// notYetRestarted: neither Slurm's count nor the runner, which reads the new
// incarnation only in the new run, says that it runs anew. A controller that lost
// its last minutes may count too few restarts.
func notYetRestarted(s situation) bool {
	return s.in.Kind == elastic.Resize && s.job.Phase == elastic.Running && s.job.Restarts <= s.in.Restarts && s.job.RunnerOf != s.in.To
}

func neverStopped(s situation) bool {
	return notYetRestarted(s) && lateBy(s, s.snap.Limits.Confirm)
}

// stopForgotten: Slurm had stopped the job and shown it pending, and calls that run running
// again. A slurmctld that was killed goes back to what it had saved, and may ask
// the node about a run that had just begun half an hour later only. Nothing has been heard of the run since.
func stopForgotten(s situation) bool {
	return (s.in.Kind == elastic.Resize || s.in.Kind == elastic.Park) && s.job.Phase == elastic.Running && s.job.Restarts <= s.in.Restarts && s.job.RunnerOf != s.in.To &&
		!s.in.PendingAt.IsZero() && !s.job.Heartbeat.After(s.in.PendingAt)
}

// stopLongForgotten: the node has had time to say that the run is not there.
func stopLongForgotten(s situation) bool {
	return stopForgotten(s) && s.now.After(s.in.PendingAt.Add(s.snap.Limits.Confirm)) && (s.in.Step < elastic.Released || neverStopped(s))
}

// heldStill: held in two looks, of which the second is not the first after the release. An
// answer may be older than the question: from the one before, the hold may be sluice's own.
// And that a look had to wait for slurmctld, which then may have forgotten the release, is
// known in the next one.
func heldStill(s situation) bool {
	return s.job.Phase == elastic.Held && s.job.HeldBefore && s.in.ReleasedAt.Before(s.snap.Before)
}

// releaseForgotten: a slurmctld that was killed goes back to what it had saved, up to some
// seconds before, and so does a backup that takes over. A user who holds the job in that
// very time has to do it again.
func releaseForgotten(s situation) bool {
	return s.job.Phase == elastic.Held && !s.job.Directive.Hold && s.in.ReleasedAt.Before(s.snap.Away)
}

// failedWrongly: Slurm calls the job failed, and the move is there to bring it back.
func failedWrongly(s situation) bool {
	return s.job.Phase == elastic.Ended && s.job.State == "FAILED" && (s.in.Kind == elastic.Revival || s.in.Fallbacks > 0 || startedUncleared(s)) || failedOfStop(s)
}

// failedOfStop: the run that was stopped for the move failed. slurmctld was killed before it
// saved the stop, and the script's end by a signal was told to one that knew nothing of it.
func failedOfStop(s situation) bool {
	return s.job.Phase == elastic.Ended && s.job.State == "FAILED" && s.in.Stopped() && s.job.Restarts <= s.in.Restarts && s.job.RunnerOf != s.in.To
}

// startedUncleared: a user or an administrator released the job before it was cleared, so that it got no
// GPUs and failed before its runner began. Sluice owes what halfCleared says.
func startedUncleared(s situation) bool {
	return s.in.Kind == elastic.Clearing && s.job.Phase == elastic.Ended && s.job.State == "FAILED" && s.job.Heartbeat.IsZero()
}

// halfCleared: cancelled in order to be brought back. Sluice owes that however long it
// takes, and says no to a user alone who cancels in the very same moment.
func halfCleared(s situation) bool {
	return s.in.Kind == elastic.Clearing && s.job.Phase == elastic.Ended && s.job.State == "CANCELLED"
}

func justRevived(s situation) bool {
	waits := failedWrongly(s) || halfCleared(s) || s.in.Kind == elastic.Clearing && lingers(s)
	return waits && s.in.BeingStopped(s.now)
}

func toClear(s situation) bool {
	return halfCleared(s) || s.in.Kind == elastic.Clearing && lingers(s) && !s.now.After(s.in.Moved.Add(reviveFor))
}

func keepsLingering(s situation) bool { return s.in.Kind == elastic.Clearing && lingers(s) }

// toRevive: while Slurm or sluiced was away the job could not be brought back; that time does
// not count.
func toRevive(s situation) bool {
	since := s.in.Moved
	for _, at := range []time.Time{s.snap.Away, s.snap.Began} {
		if at.After(since) {
			since = at
		}
	}
	return startedUncleared(s) || failedWrongly(s) && !s.now.After(since.Add(reviveFor))
}

func answered(s situation) bool { return s.job.Saved.Request == s.in.Request }

func answeredWell(s situation) bool  { return answered(s) && s.job.Saved.Checkpoint != "" }
func answeredBadly(s situation) bool { return answered(s) && s.job.Saved.Checkpoint == "" }

// answerGone: the job trains on, or its word cannot be read, and no stop is on its way
// that would then take what it does without its checkpoint.
func answerGone(s situation) bool {
	return !answeredWell(s) && runningUnstopped(s)
}

// notedLate: the job has saved, and may train on before Slurm stops it. Sluiced was away, or
// could not write.
func notedLate(s situation) bool { return answeredWell(s) && s.now.After(s.in.StopBy(grace(s))) }

// trainsSoon: so it may, and no stop is on its way. One that was asked for did not come: the
// job's runner has been heard since, so that slurmctld did not merely forget it.
func trainsSoon(s situation) bool {
	return !s.in.AskedAt.IsZero() && runningUnstopped(s) && s.now.After(s.in.StopBy(grace(s))) &&
		(s.in.RequeuedAt.IsZero() || s.job.Heartbeat.After(s.in.RequeuedAt))
}

// userHoldsUnstopped: no stop is on its way, either, that would take what the job does
// once its request is withdrawn.
func userHoldsUnstopped(s situation) bool { return userHolds(s) && runningUnstopped(s) }

func pastDeadline(s situation) bool { return s.now.After(s.in.AskedAt.Add(grace(s))) }

func grace(s situation) time.Duration { return s.snap.Limits.GraceOf(s.job.Spec, s.job.Rhythm) }

func runningUnstopped(s situation) bool {
	return s.job.Phase == elastic.Running && !s.in.BeingStopped(s.now)
}

func targetGone(s situation) bool {
	if s.in.AnyNodes {
		return false
	}
	for _, share := range s.in.Target {
		if s.job.Place.On(share.Node) >= share.GPUs && s.job.Phase == elastic.Running {
			continue // it is there already; a draining node keeps what it has
		}
		if !usable(s.snap, share.Node) {
			return true
		}
	}
	return false
}

func targetTaken(s situation) bool {
	return !s.in.AnyNodes && !s.snap.Available(s.in.Target, s.job)
}

// refused: Slurm would leave the job pending at the target, for a limit of the site.
func refused(s situation) bool {
	_, yes := plan.Refuses(s.snap, s.job, s.in.Target)
	return yes
}

// refusedRunning: a save leaves the job what it has, whatever the limit is by now.
func refusedRunning(s situation) bool {
	return s.in.Kind != elastic.Save && s.job.Phase == elastic.Running && refused(s)
}

func refusedHeld(s situation) bool { return s.job.Phase == elastic.Held && refused(s) }

func elsewhere(s situation) bool {
	if s.job.Phase != elastic.Held || !targetGone(s) && !targetTaken(s) {
		return false
	}
	p := replacement(s)
	return len(p) > 0 && !p.Equal(s.in.Target) // else the two disagree, and would for ever
}

// replacement is another placement of the same size on GPUs free now.
func replacement(s situation) nodes.Placement {
	return plan.Elsewhere(s.snap, s.job, s.in.Target.GPUs())
}

// launchFailed: the job failed before its runner said a word, though there is one of an
// earlier run. Where there is none at all, nothing tells Slurm's failure from the
// program's own.
func launchFailed(s situation) bool {
	return s.job.Phase == elastic.Ended && s.job.State == "FAILED" && s.job.Heartbeat.IsZero() && s.job.Spoke &&
		s.in.Fallbacks <= maxFallbacks
}

func runningSilent(s situation) bool {
	return s.job.Phase == elastic.Running && s.job.Heartbeat.IsZero() && !lateBy(s, s.snap.Limits.Confirm)
}

// mute: it runs, and its runner never spoke; nothing says where it resumed.
func mute(s situation) bool { return s.job.Phase == elastic.Running && s.job.Heartbeat.IsZero() }

func runningElsewise(s situation) bool {
	if s.job.Phase != elastic.Running {
		return false
	}
	return s.job.GPUs() != s.in.Target.GPUs() ||
		(s.in.Checkpoint != "" && s.job.Resumed != s.in.Checkpoint && !s.job.Choosing)
}

// choosing: its runner has yet to verify the checkpoint that it is to start from, which may
// take as long as reading it.
func choosing(s situation) bool {
	return s.job.Phase == elastic.Running && s.job.Choosing && s.in.Checkpoint != "" && !lateBy(s, s.snap.Limits.Confirm)
}

func setAside(s situation) bool {
	return s.job.Phase == elastic.Held && s.job.Reason == "BadConstraints"
}

// setAsideFirst: only a resize has a last good size to go back to.
func setAsideFirst(s situation) bool {
	return setAside(s) && s.in.Kind == elastic.Resize && s.in.Fallbacks < maxFallbacks
}

// overdue: sluice waits for it no longer, and it waits still.
func overdue(s situation) bool { return s.job.Phase == elastic.Queued && takenBack(s) }

// overdueFirst: only a resize has a last good size to go back to.
func overdueFirst(s situation) bool {
	return overdue(s) && s.in.Kind == elastic.Resize && s.in.Fallbacks < maxFallbacks
}

// takenByOthers looks at one answer of Slurm alone, the one that shows the job
// still waiting: the node query is later and may show the job's own start.
func takenByOthers(s situation) bool { return s.job.Phase == elastic.Queued && othersHold(s) }

// takenBack: sluice has noted that it takes its release back. That stays so, whatever
// the next look shows.
func takenBack(s situation) bool { return s.in.ReleasedAt.IsZero() }

// dueBack: it has, or there is reason to.
func dueBack(s situation) bool {
	return takenBack(s) || lateBy(s, s.snap.Limits.Confirm) || targetGone(s) || othersHold(s) || turnedAway(s)
}

// toTakeBack: and it is not noted yet.
func toTakeBack(s situation) bool {
	return s.job.Phase == elastic.Queued && !takenBack(s) && dueBack(s)
}

func heldAsDue(s situation) bool {
	return s.job.Phase == elastic.Held && !s.job.Directive.Hold && dueBack(s)
}

// othersHold reports whether ordinary jobs hold GPUs of the target.
func othersHold(s situation) bool {
	if s.in.AnyNodes {
		return false
	}
	for _, share := range s.in.Target {
		for _, n := range s.snap.Nodes {
			if n.Name == share.Node && s.snap.Others[n.Name]+share.GPUs > n.GPUs {
				return true
			}
		}
	}
	return false
}

func lateBy(s situation, d time.Duration) bool { return s.now.After(s.in.ReleasedAt.Add(d)) }

// tooLate: the job answered after its GPUs were lent, and other jobs have them now, or the slots.
func tooLate(s situation) bool {
	return answeredWell(s) && s.in.Lends(&s.snap) && (targetTaken(s) || allSlotsTaken(s))
}

// allSlotsTaken: as many jobs are between two sizes as may be.
func allSlotsTaken(s situation) bool {
	moving := 0
	for _, in := range s.snap.Intents {
		if in.Kind != elastic.Start && in.ID != s.in.ID && !in.Lends(&s.snap) {
			moving++
		}
	}
	return s.snap.Limits.Moves > 0 && moving >= s.snap.Limits.Moves
}

// usable reports whether the node is there and takes new jobs.
func usable(s elastic.Snapshot, node string) bool {
	for _, n := range s.Nodes {
		if n.Name == node {
			return n.Usable
		}
	}
	return false
}
