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

// userHolds: held while running, through Slurm or through sluice. A move would stop the job and
// leave it held; a save stops nothing.
func userHolds(s situation) bool {
	return s.in.Kind != elastic.Save && s.job.Phase == elastic.Running && (s.job.UserHold || s.job.Directive.Hold)
}

// superseded: the job has the incarnation of a later move. The journal was restored from an
// older copy, and this move was over long ago.
func superseded(s situation) bool { return s.job.Incarnation > s.in.To }

// ranAlready: the journal is old in the same way, and no move followed. Only the report of a run
// that is over counts: otherwise a running job could prevent every move of itself.
func ranAlready(s situation) bool { return s.job.Phase == elastic.Waiting && s.job.RunnerOf >= s.in.To }

// unreachable: the job's folder cannot be written or read.
func unreachable(s situation) bool { return !s.job.Unread.IsZero() }

// heldPending: held by its user or an administrator, through Slurm or through sluice.
func heldPending(s situation) bool {
	return s.job.Phase == elastic.Waiting && (s.job.UserHold || s.job.Directive.Hold)
}

// startsWithin is how long after its start a job may be shown as deferred still, whatever the clocks
// of slurmctld and sluiced differ by. It MUST be less than Between.
const startsWithin = Between / 2

// beginsSoon: the begin time of its start has not come yet, or an observation is older than the
// start. Slurm's begin time itself says nothing here: its clock may be far from sluice's.
func beginsSoon(s situation) bool {
	return s.job.Phase == elastic.Waiting && s.now.Before(s.in.ReleasedAt.Add(startsWithin))
}

// runsAlready: a revival never stops a job.
func runsAlready(s situation) bool { return bringsBack(s) && s.job.Phase == elastic.Running }

// revives: the job was ended by mistake, or to clear it, and is back.
func revives(s situation) bool {
	return bringsBack(s) && s.job.Phase == elastic.Waiting && !s.job.Lingers
}

// bringsBack: the move is complete once the job waits as any other.
func bringsBack(s situation) bool {
	return s.in.Kind == elastic.Revival || s.in.Kind == elastic.Clearing
}

// lingers: a node crashed while the job was being cleaned up there.
func lingers(s situation) bool { return s.job.Phase == elastic.Waiting && s.job.Lingers }

// savedOnly: the move only had to save a checkpoint.
func savedOnly(s situation) bool { return s.in.Kind == elastic.Save && answeredWell(s) }

// parks: the job gives up its GPUs, and has done so.
func parks(s situation) bool { return s.in.Kind == elastic.Park && s.job.Phase == elastic.Waiting }

func is(p elastic.Phase) func(situation) bool {
	return func(s situation) bool { return s.job.Phase == p }
}

func restartedSince(s situation) bool {
	return s.job.Phase == elastic.Running && s.job.Restarts > s.in.Restarts
}

// notYetRestarted: neither Slurm's restart count nor the runner, which reads the new
// incarnation only in the new run, shows a new run. A controller that lost its last minutes may
// count too few restarts.
func notYetRestarted(s situation) bool {
	return s.in.Kind == elastic.Resize && s.job.Phase == elastic.Running && s.job.Restarts <= s.in.Restarts && s.job.RunnerOf != s.in.To
}

func neverStopped(s situation) bool {
	return notYetRestarted(s) && lateBy(s, s.snap.Limits.Confirm)
}

// stopForgotten: Slurm had stopped the job and shown it pending, and now shows the old run as
// running. A slurmctld that was killed goes back to its saved state, and may take half an hour
// to ask the node about a run that had just begun. Nothing was heard of the run since.
func stopForgotten(s situation) bool {
	return (s.in.Kind == elastic.Resize || s.in.Kind == elastic.Park) && s.job.Phase == elastic.Running && s.job.Restarts <= s.in.Restarts && s.job.RunnerOf != s.in.To &&
		!s.in.PendingAt.IsZero() && !s.job.Heartbeat.After(s.in.PendingAt)
}

// stopLongForgotten: the node has had time to report that the run is not there.
func stopLongForgotten(s situation) bool {
	return stopForgotten(s) && s.now.After(s.in.PendingAt.Add(s.snap.Limits.Confirm)) && (s.in.Step < elastic.Released || neverStopped(s))
}

// failedWrongly: Slurm calls the job failed, and the move is there to bring it back.
func failedWrongly(s situation) bool {
	return s.job.Phase == elastic.Ended && s.job.State == "FAILED" && (s.in.Kind == elastic.Revival || s.in.Fallbacks > 0 || startedUncleared(s)) || failedOfStop(s)
}

// failedOfStop: the run that was stopped for the move failed. slurmctld was killed before it
// saved the stop, and the script's end by a signal was reported to one that knew nothing about
// the stop.
func failedOfStop(s situation) bool {
	return s.job.Phase == elastic.Ended && s.job.State == "FAILED" && s.in.Stopped() && s.job.Restarts <= s.in.Restarts && s.job.RunnerOf != s.in.To
}

// startedAndFailed: Slurm started the stopped job by itself, as its begin time came while slurmctld or
// sluiced was away, and the launch failed: its node was lost while the job was cleaned up there.
func startedAndFailed(s situation) bool {
	return s.in.Stopped() && s.job.Restarts > s.in.Restarts && launchFailed(s)
}

// startedUncleared: a user or an administrator released the job before it was cleared, so that
// it got no GPUs and failed before its runner began. sluice has to bring it back, as in
// halfCleared.
func startedUncleared(s situation) bool {
	return s.in.Kind == elastic.Clearing && s.job.Phase == elastic.Ended && s.job.State == "FAILED" && s.job.Heartbeat.IsZero()
}

// halfCleared: cancelled in order to be brought back. sluice has to complete that however long
// it takes. The only user that it overrides is one that cancels at the very same moment.
func halfCleared(s situation) bool {
	return s.in.Kind == elastic.Clearing && s.job.Phase == elastic.Ended && s.job.State == "CANCELLED"
}

// justRevived: Slurm was asked a moment ago, in this step: an earlier request was the stop for
// the move.
func justRevived(s situation) bool {
	waits := failedWrongly(s) || halfCleared(s) || s.in.Kind == elastic.Clearing && lingers(s)
	return waits && s.in.BeingStopped(s.now) && !s.in.RequeuedAt.Before(s.in.Moved)
}

func toClear(s situation) bool {
	return halfCleared(s) || s.in.Kind == elastic.Clearing && lingers(s) && !s.now.After(s.in.Moved.Add(reviveFor))
}

func keepsLingering(s situation) bool { return s.in.Kind == elastic.Clearing && lingers(s) }

// toRevive: while Slurm or sluiced was down the job could not be brought back; that time does
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

// answerGone: the job trains on, or its answer cannot be read, and no stop is under way that
// would discard progress without a checkpoint.
func answerGone(s situation) bool {
	return !answeredWell(s) && runningUnstopped(s)
}

// notedLate: the job has saved, and may train on before Slurm stops it, because sluiced was
// down or could not write.
func notedLate(s situation) bool { return answeredWell(s) && s.now.After(s.in.StopBy(grace(s))) }

// trainsSoon: it may train on soon, and no stop is under way. A stop that was requested did not
// happen: the job's runner has been heard since, so slurmctld did not merely forget it.
func trainsSoon(s situation) bool {
	return !s.in.AskedAt.IsZero() && runningUnstopped(s) && s.now.After(s.in.StopBy(grace(s))) &&
		(s.in.RequeuedAt.IsZero() || s.job.Heartbeat.After(s.in.RequeuedAt))
}

// userHoldsUnstopped: no stop is under way either that would discard what the job does once its
// request is withdrawn, and the run was not seen stopped before (stopAgain).
func userHoldsUnstopped(s situation) bool {
	return userHolds(s) && runningUnstopped(s) && s.in.PendingAt.IsZero()
}

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
			continue // it is there already; on a draining node a job keeps its GPUs
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

// refused: Slurm would leave the job pending at the target because of a limit of the site.
func refused(s situation) bool {
	_, yes := plan.Refuses(s.snap, s.job, s.in.Target)
	return yes
}

// refusedRunning: a save leaves the job its allocation, whatever the limit is by now.
func refusedRunning(s situation) bool {
	return s.in.Kind != elastic.Save && s.job.Phase == elastic.Running && refused(s)
}

func refusedHeld(s situation) bool { return s.job.Phase == elastic.Waiting && refused(s) }

func elsewhere(s situation) bool {
	if s.job.Phase != elastic.Waiting || !targetGone(s) && !targetTaken(s) {
		return false
	}
	p := replacement(s)
	return len(p) > 0 && !p.Equal(s.in.Target) // else the two disagree, and would for ever
}

// replacement returns another placement of the same size on GPUs that are free now; empty if
// there is none.
func replacement(s situation) nodes.Placement {
	return plan.Elsewhere(s.snap, s.job, s.in.Target.GPUs())
}

// launchFailed: the job failed before its runner reported, though there is a report of an
// earlier run. Without any report, Slurm's failure cannot be told from the program's own.
func launchFailed(s situation) bool {
	return s.job.Phase == elastic.Ended && s.job.State == "FAILED" && s.job.Heartbeat.IsZero() && s.job.Spoke &&
		s.in.Fallbacks <= maxFallbacks
}

// neverRan: Slurm has not restarted the job, and no runner of it has ever reported. A run that
// starts in the second in which the last one was killed fails, so this MUST hold of no job that
// may have run: slurmctld, when it was killed, may count too few restarts.
func neverRan(s situation) bool {
	return s.in.Kind == elastic.Start && s.in.Fallbacks == 0 && s.job.Restarts == 0 && s.in.Restarts == 0 && !s.job.Spoke
}

func runningSilent(s situation) bool {
	return s.job.Phase == elastic.Running && s.job.Heartbeat.IsZero() && !lateBy(s, s.snap.Limits.Confirm)
}

// mute: it runs, and its runner has never reported; nothing says where it resumed.
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
	return s.job.Phase == elastic.Waiting && s.job.Reason == "BadConstraints"
}

// setAsideFirst: only a resize has a last good size to return to.
func setAsideFirst(s situation) bool {
	return setAside(s) && s.in.Kind == elastic.Resize && s.in.Fallbacks < maxFallbacks
}

// queuedWith adds to a condition that Slurm may start the job, and has not.
func queuedWith(when func(situation) bool) func(situation) bool {
	return func(s situation) bool { return s.job.Phase == elastic.Queued && when(s) }
}

// overdue: sluice's patience for the start is over, and the job still waits.
func overdue(s situation) bool {
	return s.job.Phase == elastic.Queued && lateBy(s, s.snap.Limits.Confirm)
}

// overdueFirst: only a resize has a last good size to return to.
func overdueFirst(s situation) bool {
	return overdue(s) && s.in.Kind == elastic.Resize && s.in.Fallbacks < maxFallbacks
}

// takenByOthers uses only the one answer of Slurm that shows the job still waiting: the node
// query is later and may show the job's own start.
func takenByOthers(s situation) bool { return s.job.Phase == elastic.Queued && othersHold(s) }

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

// tooLate: the job answered after its GPUs were lent, and other jobs have them, or the slots,
// now.
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

// usable reports whether the node exists and accepts new jobs.
func usable(s elastic.Snapshot, node string) bool {
	for _, n := range s.Nodes {
		if n.Name == node {
			return n.Usable
		}
	}
	return false
}
