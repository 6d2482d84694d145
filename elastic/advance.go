package elastic

import "time"

// requeuePatience is how long a requeue may go unseen before it is asked for
// again. Slurm answers the request at once and acts within a second or two.
const requeuePatience = 15 * time.Second

// reviveFor is how long an attempt to bring a failed job back is repeated.
const reviveFor = time.Minute

// maxFallbacks is how often one move may fall back before it is closed and the
// job placed afresh.
const maxFallbacks = 1

// olderJournal is why a move is closed that later ones have followed.
const olderJournal = "it was over long ago: the journal is an older copy"

// answeredLate is why a move is closed whose job answered after others had its GPUs.
const answeredLate = "its checkpoint came after the GPUs meant for it had been lent to others; the job keeps its size"

// noAnswer is why a move is closed of a job that cannot be asked.
const noAnswer = "its folder does not answer; the job keeps its size"

// Next is Advance's word on an intent.
type Next struct {
	// Intent is the intent as it stands once every action of Do succeeded. It
	// is stored after them, never before: a crash in between repeats them.
	Intent Intent
	Do     []Action
	Close  Outcome // "" = stays open
	Why    string  // what it waits for, or why it closes
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
	in   Intent
	job  Job
	snap Snapshot
	now  time.Time
}

// row is one rule: the first whose condition holds speaks.
type row struct {
	when func(situation) bool
	then func(situation) Next
}

// Advance says what to do next about an open intent, from the last thing known
// durable (intent.Step) and the job as observed: the table of the resize
// protocol, for normal work and for recovery alike. A job that Slurm has
// forgotten is given as a Job with Phase Ended.
func Advance(in Intent, job Job, snap Snapshot) Next {
	s := situation{in: in, job: job, snap: snap, now: snap.Now}
	if err := in.Known(); err != nil {
		return wait(s, err.Error())
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
	return wait(s, "waits for Slurm: the job is "+string(job.Phase))
}

var table = map[Step][]row{
	// R1: nothing was done yet.
	Intended: {
		{ended, closeEnded},
		{superseded, closeNow(Abandoned, olderJournal)},
		// Somebody else stopped it first; it will be placed afresh.
		{notRunning, abandon("the job stopped running before it was asked to save")},
		// Its user asked Slurm to hold it: he wins.
		{userHolds, userWon("its user holds the job; it keeps its size until released")},
		{targetGone, abandon("a node of the new placement can no longer be used")},
		{refusedRunning, abandon("a limit of the site no longer allows the new size")},
		{unreachable, abandon(noAnswer)},
		{always, askCheckpoint},
	},
	// R2: the request is out.
	Asked: {
		{ended, closeEnded},
		{superseded, withdraw(Abandoned, olderJournal)},
		{restartedSince, withdraw(UserWon, "the job was requeued by somebody else meanwhile")},
		{notRunning, withdraw(UserWon, "the job was requeued or stopped by somebody else meanwhile")},
		{savedOnly, closeSaved},
		{userHolds, withdraw(UserWon, "its user holds the job; it keeps its size until released")},
		{targetGone, withdraw(Abandoned, "a node of the new placement can no longer be used")},
		{refusedRunning, withdraw(Abandoned, "a limit of the site no longer allows the new size; the job keeps the one it has")},
		{tooLate, withdraw(Abandoned, answeredLate)},
		{answeredWell, noteCheckpoint},
		{answeredBadly, withdrawAnswered},
		{unreachable, withdraw(Abandoned, noAnswer)},
		{pastDeadline, withdraw(Abandoned, "no checkpoint within the grace period; the job keeps its size")},
		{always, waiting("waits for the job's checkpoint")},
	},
	// R3: a checkpoint was verified on the node. From here the job is stopped
	// and must be brought back.
	Verified: {
		// Slurm was asked a moment ago, and is still at it.
		{justRevived, waiting("waits for Slurm to bring it back")},
		// A revival begins so, and a clearing; a request that came too early went under.
		{toRevive, revive},
		{toClear, clearAway},
		{ended, closeEnded},
		{superseded, closeNow(Fellback, olderJournal)},
		{runsAlready, closeNow(UserWon, "somebody else brought it back; it runs")},
		{restartedSince, withdraw(UserWon, "the job was requeued by somebody else and runs again")},
		{userHoldsUnstopped, withdraw(UserWon, "its user holds the job; it keeps its size until released")},
		{answerGone, withdraw(Abandoned, "the verified checkpoint's job is no longer waiting; it keeps its size")},
		{runningUnstopped, requeue},
		{is(Running), waiting("waits for Slurm to stop the job")},
		{is(Completing), waiting("waits for the nodes to be cleaned")},
		{keepsLingering, closeNow(Fellback, "Slurm goes on counting it on nodes of its last run")},
		{is(Held), pendingAndHeld},
		// Requeued without the hold, by its user or by a lost node.
		{is(Queued), holdFirst},
	},
	// R4: pending and held.
	Requeued: {
		{ended, closeEnded},
		{superseded, closeNow(Fellback, olderJournal)},
		{ranAlready, closeNow(Fellback, olderJournal)},
		{is(Running), closeNow(UserWon, "somebody released the job; it runs as Slurm placed it")},
		{is(Completing), waiting("waits for the nodes to be cleaned")},
		{held_, closeNow(UserWon, "held by its user or an administrator; waits to be released")},
		{is(Queued), holdFirst},
		// All there was to do for a job that gives its GPUs up, or that was brought back
		// from a wrong end; it waits for its turn.
		{parks, closeParked},
		{revives, closeRevived},
		// Started so, it would get no GPUs.
		{lingers, closeNow(Fellback, "Slurm still counts it on nodes of its last run; cleared of it first")},
		// Its run could not be told its size. Others get the GPUs meanwhile.
		{unreachable, closeNow(Fellback, "its folder does not answer; placed afresh once it does")},
		// Others were faster, or a node went: the same size elsewhere, if there is
		// such a place now; else the job is placed afresh.
		{elsewhere, retarget},
		{targetGone, closeNow(Fellback, "a node of the new placement can no longer be used")},
		{targetTaken, closeNow(Fellback, "the GPUs meant for it were taken meanwhile")},
		// Others of its group took what the site's limits left: Slurm would not start it.
		{refusedHeld, closeNow(Fellback, "a limit of the site no longer allows the new size; placed afresh")},
		{is(Held), write},
	},
	// R5: size and incarnation stand on the held job.
	Written: {
		{ended, closeEnded},
		{superseded, closeNow(Fellback, olderJournal)},
		{held_, closeNow(UserWon, "held by its user or an administrator; waits to be released")},
		{is(Held), release},
		{is(Queued), released},
		{is(Running), released},
	},
	// R6: Slurm may start it.
	Released: {
		// The launch itself failed (a revoked credential, a broken node): the
		// program never ran, so the end is Slurm's, not the job's.
		{launchFailed, reviveLaunch},
		{ended, closeEnded},
		{neverStopped, closeNow(UserWon, "still runs as before the move")},
		{notYetRestarted, waiting("waits for Slurm to start it")},
		{runningSilent, waiting("runs; waits for the first word of its runner")},
		{mute, closeRunning(Fellback)},
		{runningElsewise, closeRunning(Fellback)},
		{is(Running), closeRunning(Done)},
		// Slurm itself set it aside: this size cannot be had as it is written.
		{setAsideFirst, fallBackRefused},
		{setAside, closeRefused},
		// Held when sluice itself was due to hold it: the reply to its own hold was
		// lost, or it died before it wrote the hold down.
		{heldAsDue, closeNow(Fellback, "did not start in time; placed afresh")},
		{heldStill, userHeld},
		{is(Held), waiting("waits for another look: Slurm may not show its release yet")},
		{toTakeBack, takeBack},
		{targetGone, giveUp},
		// An ordinary job was faster: waiting for it to end would help nobody.
		{takenByOthers, giveUpTaken},
		// Slurm has looked, and another look would change nothing.
		{turnedAwayFirst, fallBackHere},
		{turnedAwayHere, giveUpHere},
		{turnedAwayAtAll, giveUpAtAll},
		{overdueFirst, fallBack},
		{overdue, giveUp},
		{missedPass, requestPass},
		{is(Queued), waitingInSlurm},
	},
}
