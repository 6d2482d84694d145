package resize

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// reviveFor is how long an attempt to bring a failed job back is repeated.
const reviveFor = time.Minute

// maxFallbacks is how often one move may fall back before it is closed and the
// job placed afresh.
const maxFallbacks = 1

// Next is Advance's word on an intent.
type Next struct {
	// Intent is the intent as it stands once every action of Do succeeded. It
	// is stored after them, never before: a crash in between repeats them.
	Intent elastic.Intent
	Do     []elastic.Action
	Close  elastic.Outcome // "" = stays open
	Why    reason.Reason   // what it waits for, or why it closes
	// Again asks for another look at once: the next row of the table depends
	// on nothing that has to be observed first.
	Again bool
	// Refused: Slurm would not take what was written. Blameless: not for the nodes.
	Refused, Blameless bool
	// Obstacle is Slurm's reason for which it would not start the job anywhere now; "" = none.
	Obstacle string
}

// situation is all that a row may look at.
type situation struct {
	in   elastic.Intent
	job  elastic.Job
	snap elastic.Snapshot
	now  time.Time
}

// row is one rule. The first one of a step with a condition that holds is followed.
type row struct {
	when func(situation) bool
	then func(situation) Next
}

// Advance says what to do next about an open intent, from the last thing known
// durable (intent.Step) and the job as observed: the table of the resize
// protocol, for normal work and for recovery alike. A job that Slurm has
// forgotten is given as a Job with Phase Ended.
func Advance(in elastic.Intent, job elastic.Job, snap elastic.Snapshot) Next {
	s := situation{in: in, job: job, snap: snap, now: snap.Now}
	if err := in.Known(); err != nil {
		return wait(s, reason.NewerMove{Error: err.Error()})
	}
	for _, r := range table[in.Step] {
		if r.when(s) {
			next := r.then(s)
			if next.Intent.Step != in.Step {
				next.Intent.Moved = s.now
			}
			return next
		}
	}
	return wait(s, reason.AwaitsSlurm{Phase: string(job.Phase)})
}

var table = map[elastic.Step][]row{
	// R1: nothing was done yet.
	elastic.Intended: {
		{ended, closeEnded},
		{superseded, closeNow(elastic.Abandoned, reason.OlderJournal)},
		// A user, an administrator or Slurm stopped it first; it will be placed afresh.
		{notRunning, abandon(reason.StoppedBefore)},
		// Its user asked Slurm to hold it, and that has precedence.
		{userHolds, userWon(reason.UserHoldsJob)},
		{targetGone, abandon(reason.NodeGone)},
		{refusedRunning, abandon(reason.LimitRunning)},
		{unreachable, abandon(reason.NoAnswer)},
		{always, askCheckpoint},
	},
	// R2: the request is out.
	elastic.Asked: {
		{ended, closeEnded},
		{superseded, withdraw(elastic.Abandoned, reason.OlderJournal)},
		{restartedSince, withdraw(elastic.UserWon, reason.Requeued)},
		{notRunning, withdraw(elastic.UserWon, reason.RequeuedOrStopped)},
		{savedOnly, closeSaved},
		{userHolds, withdraw(elastic.UserWon, reason.UserHoldsJob)},
		{targetGone, withdraw(elastic.Abandoned, reason.NodeGone)},
		{refusedRunning, withdraw(elastic.Abandoned, reason.LimitKeeps)},
		{tooLate, withdraw(elastic.Abandoned, reason.AnsweredLate)},
		{notedLate, withdraw(elastic.Abandoned, reason.NotedLate)},
		{answeredWell, noteCheckpoint},
		{answeredBadly, withdrawAnswered},
		{unreachable, withdraw(elastic.Abandoned, reason.NoAnswer)},
		{pastDeadline, withdraw(elastic.Abandoned, reason.GraceOver)},
		{always, waiting(reason.AwaitsCheckpoint)},
	},
	// R3: a checkpoint was verified on the node. From here the job is stopped
	// and must be brought back.
	elastic.Verified: {
		// Slurm was asked a moment ago, and is still at it.
		{justRevived, waiting(reason.AwaitsRevival)},
		// A revival begins so, and a clearing; a request that came too early went under.
		{toRevive, revive},
		{toClear, clearAway},
		{ended, closeEnded},
		{superseded, closeNow(elastic.Fellback, reason.OlderJournal)},
		{runsAlready, closeNow(elastic.UserWon, reason.BroughtBackByOther)},
		{restartedSince, withdraw(elastic.UserWon, reason.RequeuedRuns)},
		{userHoldsUnstopped, withdraw(elastic.UserWon, reason.UserHoldsJob)},
		{answerGone, withdraw(elastic.Abandoned, reason.AnswerGone)},
		{trainsSoon, withdraw(elastic.Abandoned, reason.NotedLate)},
		{runningUnstopped, requeue},
		{is(elastic.Running), waiting(reason.AwaitsStop)},
		{is(elastic.Completing), waiting(reason.AwaitsCleaning)},
		{keepsLingering, closeNow(elastic.Fellback, reason.StillCounted)},
		{is(elastic.Held), pendingAndHeld},
		// Requeued without the hold, by its user or by a lost node.
		{is(elastic.Queued), holdFirst},
	},
	// R4: pending and held.
	elastic.Requeued: {
		{failedOfStop, reviveStopped},
		{ended, closeEnded},
		{superseded, closeNow(elastic.Fellback, reason.OlderJournal)},
		{ranAlready, closeNow(elastic.Fellback, reason.OlderJournal)},
		{stopLongForgotten, stopAgain},
		{stopForgotten, waiting(reason.AwaitsNotice)},
		{is(elastic.Running), closeNow(elastic.UserWon, reason.ReleasedByOther)},
		{is(elastic.Completing), waiting(reason.AwaitsCleaning)},
		{heldByDirective, closeNow(elastic.UserWon, reason.HeldByOther)},
		{is(elastic.Queued), holdFirst},
		// All there was to do for a job that gives its GPUs up, or that was brought back
		// from a wrong end; it waits for its turn.
		{parks, closeParked},
		{revives, closeRevived},
		// Started so, it would get no GPUs.
		{lingers, closeNow(elastic.Fellback, reason.ClearedFirst)},
		// Its run could not be told its size. Others get the GPUs meanwhile.
		{unreachable, closeNow(elastic.Fellback, reason.FolderPlacedAfresh)},
		// Others were faster, or a node went: the same size elsewhere, if there is
		// such a place now; else the job is placed afresh.
		{elsewhere, retarget},
		{targetGone, closeNow(elastic.Fellback, reason.NodeGone)},
		{targetTaken, closeNow(elastic.Fellback, reason.GPUsTaken)},
		// Others of its group took what the site's limits left: Slurm would not start it.
		{refusedHeld, closeNow(elastic.Fellback, reason.LimitHeld)},
		{is(elastic.Held), write},
	},
	// R5: size and incarnation stand on the held job.
	elastic.Written: {
		{failedOfStop, reviveStopped},
		{ended, closeEnded},
		{superseded, closeNow(elastic.Fellback, reason.OlderJournal)},
		{heldByDirective, closeNow(elastic.UserWon, reason.HeldByOther)},
		{is(elastic.Held), release},
		{is(elastic.Queued), released},
		{is(elastic.Running), released},
	},
	// R6: Slurm may start it.
	elastic.Released: {
		// The launch itself failed (a revoked credential, a broken node): the
		// program never ran, so the end is Slurm's, not the job's.
		{launchFailed, reviveLaunch},
		{failedOfStop, reviveStopped},
		{ended, closeEnded},
		{stopLongForgotten, stopAgain},
		{neverStopped, closeNow(elastic.UserWon, reason.RunsAsBefore)},
		{notYetRestarted, waiting(reason.AwaitsStart)},
		{runningSilent, waiting(reason.AwaitsRunner)},
		{mute, closeRunning(elastic.Fellback)},
		{choosing, waiting(reason.AwaitsChoice)},
		{runningElsewise, closeRunning(elastic.Fellback)},
		{is(elastic.Running), closeRunning(elastic.Done)},
		// Slurm itself set it aside: this size cannot be had as it is written.
		{setAsideFirst, fallBackRefused},
		{setAside, closeRefused},
		// Held when sluice itself was due to hold it: the reply to its own hold was
		// lost, or it died before it wrote the hold down.
		{heldAsDue, closeNow(elastic.Fellback, reason.LatePlacedAfresh)},
		{releaseForgotten, closeNow(elastic.Fellback, reason.ReleaseForgotten)},
		{heldStill, userHeld},
		{is(elastic.Held), waiting(reason.AwaitsLook)},
		{toTakeBack, takeBack},
		{targetGone, giveUp},
		// An ordinary job took the GPUs: to wait until it ends would help no job.
		{takenByOthers, giveUpTaken},
		// Slurm has looked, and another look would change nothing.
		{turnedAwayFirst, fallBackHere},
		{turnedAwayHere, giveUpHere},
		{turnedAwayAtAll, giveUpAtAll},
		{overdueFirst, fallBack},
		{overdue, giveUp},
		{missedPass, requestPass},
		{is(elastic.Queued), waitingInSlurm},
	},
}
