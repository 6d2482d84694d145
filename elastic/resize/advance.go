package resize

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// reviveFor is how long an attempt to bring a failed job back is repeated.
const reviveFor = time.Minute

// maxFallbacks is how often one move may fall back before it is closed and the job is placed
// anew.
const maxFallbacks = 1

// Next is what to do next about an intent. The caller MUST follow the order in the package
// comment.
type Next struct {
	// Intent is the intent after every action of Do succeeded. It MUST be stored AFTER them,
	// never before: a crash in between repeats them.
	Intent elastic.Intent
	Do     []elastic.Action
	Close  elastic.Outcome // "" = stays open
	Why    reason.Reason   // what it waits for, or why it closes
	// Again asks for another call at once: the next row of the table needs no new observation.
	Again bool
	// Refused: Slurm did not accept what was written. Blameless: no node caused it.
	Refused, Blameless bool
	// Obstacle is Slurm's reason for not starting the job anywhere now; "" = none.
	Obstacle string
}

// situation is all that a row may depend on.
type situation struct {
	in   elastic.Intent
	job  elastic.Job
	snap elastic.Snapshot
	now  time.Time
}

// row is one rule. Within a step the first row whose condition holds is followed, so the ORDER
// of rows is their priority.
type row struct {
	when func(situation) bool
	then func(situation) Next
}

// Advance returns what to do next about an open intent, from the last step known to be durable
// (intent.Step) and the job as observed. It is the table of the resize protocol, for normal
// operation and for recovery alike. A job that Slurm has forgotten is given as a Job with Phase
// Ended.
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
		// A user, an administrator or Slurm stopped it first; it is placed anew.
		{notRunning, abandon(reason.StoppedBefore)},
		// Its user asked Slurm to hold it, and that has precedence.
		{userHolds, userWon(reason.UserHoldsJob)},
		{targetGone, abandon(reason.NodeGone)},
		{refusedRunning, abandon(reason.LimitRunning)},
		{unreachable, abandon(reason.NoAnswer)},
		{always, askCheckpoint},
	},
	// R2: the request is in the outbox.
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
	// R3: a checkpoint was verified on the node. From here on the job is stopped, and MUST be
	// brought back.
	elastic.Verified: {
		// Slurm was asked a moment ago, and has not finished.
		{justRevived, waiting(reason.AwaitsRevival)},
		// A revival and a clearing begin here. A request that came too early was dropped.
		{toRevive, revive},
		{toClear, clearAway},
		{startedAndFailed, reviveLaunch},
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
		{is(elastic.Waiting), pending},
		// Its requeue delay is over, or its user let it start.
		{is(elastic.Queued), deferFirst},
	},
	// R4: pending, and not started before its begin time, which is soon if sluiced is gone.
	elastic.Requeued: {
		{failedOfStop, reviveStopped},
		{startedAndFailed, reviveLaunch},
		{ended, closeEnded},
		{superseded, closeNow(elastic.Fellback, reason.OlderJournal)},
		{ranAlready, closeNow(elastic.Fellback, reason.OlderJournal)},
		{stopLongForgotten, stopAgain},
		{stopForgotten, waiting(reason.AwaitsNotice)},
		{is(elastic.Running), closeNow(elastic.UserWon, reason.StartedByOther)},
		{is(elastic.Completing), waiting(reason.AwaitsCleaning)},
		{heldPending, closeNow(elastic.UserWon, reason.HeldByOther)},
		{is(elastic.Queued), deferFirst},
		// Nothing else to do for a job that gives its GPUs up, or that was brought back after a
		// wrong end; it waits again.
		{parks, closeParked},
		{revives, closeRevived},
		// If it were started now, it would get no GPUs.
		{lingers, closeNow(elastic.Fellback, reason.ClearedFirst)},
		// Its folder cannot be written, so its run could not be given its size. Other jobs get
		// the GPUs meanwhile.
		{unreachable, closeNow(elastic.Fellback, reason.FolderPlacedAfresh)},
		// Other jobs took the GPUs, or a node failed: the same size elsewhere, if there is such
		// a place now; else the job is placed anew.
		{elsewhere, retarget},
		{targetGone, closeNow(elastic.Fellback, reason.NodeGone)},
		{targetTaken, closeNow(elastic.Fellback, reason.GPUsTaken)},
		// Other jobs of its group used up the site's limit: Slurm would not start it.
		{refusedHeld, closeNow(elastic.Fellback, reason.LimitHeld)},
		{is(elastic.Waiting), write},
	},
	// R5: size and incarnation are written to the pending job.
	elastic.Written: {
		{failedOfStop, reviveStopped},
		{startedAndFailed, reviveLaunch},
		{ended, closeEnded},
		{superseded, closeNow(elastic.Fellback, reason.OlderJournal)},
		{heldPending, closeNow(elastic.UserWon, reason.HeldByOther)},
		{is(elastic.Waiting), start},
		{is(elastic.Queued), started},
		{is(elastic.Running), started},
	},
	// R6: Slurm may start it.
	elastic.Released: {
		// The launch itself failed (a revoked credential, a broken node). The program never
		// ran, so the end is Slurm's, not the job's.
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
		// Slurm itself set it aside: this size cannot be allocated as written.
		{setAsideFirst, fallBackRefused},
		{setAside, closeRefused},
		{heldPending, closeNow(elastic.UserWon, reason.HeldByOther)},
		{beginsSoon, waiting(reason.AwaitsStart)},
		// slurmctld, which was killed, forgot the start; or its user deferred it; or sluice did,
		// and died before it recorded that.
		{is(elastic.Waiting), closeNow(elastic.Fellback, reason.StartForgotten)},
		{queuedWith(targetGone), giveUp},
		// An ordinary job took the GPUs: waiting for its end would help no job.
		{takenByOthers, giveUpTaken},
		// Slurm has considered the job, and another pass would change nothing.
		{turnedAwayFirst, fallBackHere},
		{turnedAwayHere, giveUpHere},
		{turnedAway, giveUpAtAll},
		{overdueFirst, fallBack},
		{overdue, giveUp},
		{missedPass, requestPass},
		{is(elastic.Queued), waitingInSlurm},
	},
}
