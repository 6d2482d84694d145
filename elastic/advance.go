package elastic

import (
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/nodes"
)

// requeuePatience is how long a requeue may go unseen before it is asked for
// again. Slurm answers the request at once and acts within a second or two.
const requeuePatience = 15 * time.Second

// maxFallbacks is how often one move may fall back before it is closed and the
// job placed afresh.
const maxFallbacks = 1

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
		// Somebody else stopped it first; it will be placed afresh.
		{notRunning, abandon("the job stopped running before it was asked to save")},
		// Its user asked Slurm to hold it: he wins.
		{userHolds, userWon("its user holds the job; it keeps its size until released")},
		{targetGone, abandon("a node of the new placement can no longer be used")},
		{always, askCheckpoint},
	},
	// R2: the request is out.
	Asked: {
		{ended, closeEnded},
		{restartedSince, withdraw(UserWon, "the job was requeued by somebody else meanwhile")},
		{notRunning, withdraw(UserWon, "the job was requeued or stopped by somebody else meanwhile")},
		{userHolds, withdraw(UserWon, "its user holds the job; it keeps its size until released")},
		{targetGone, withdraw(Abandoned, "a node of the new placement can no longer be used")},
		{answeredWell, noteCheckpoint},
		{answeredBadly, withdrawAnswered},
		{pastDeadline, withdraw(Abandoned, "no checkpoint within the grace period; the job keeps its size")},
		{always, waiting("waits for the job's checkpoint")},
	},
	// R3: a checkpoint was verified on the node. From here the job is stopped
	// and must be brought back.
	Verified: {
		// A launch that failed was requeued a moment ago; Slurm is still at it.
		{requeuedFromFailure, waiting("waits for Slurm to requeue it after a failed launch")},
		{ended, closeEnded},
		{restartedSince, withdraw(UserWon, "the job was requeued by somebody else and runs again")},
		{userHolds, withdraw(UserWon, "its user holds the job; it keeps its size until released")},
		{answerGone, withdraw(Abandoned, "the verified checkpoint's job is no longer waiting; it keeps its size")},
		{runningUnstopped, requeue},
		{is(Running), waiting("waits for Slurm to stop the job")},
		{is(Completing), waiting("waits for the nodes to be cleaned")},
		{is(Held), pendingAndHeld},
		// Requeued without the hold, by its user or by a lost node.
		{is(Queued), holdFirst},
	},
	// R4: pending and held.
	Requeued: {
		{ended, closeEnded},
		{is(Running), closeNow(UserWon, "somebody released the job; it runs as Slurm placed it")},
		{is(Completing), waiting("waits for the nodes to be cleaned")},
		{held_, closeNow(UserWon, "held by its user or an administrator; waits to be released")},
		{is(Queued), holdFirst},
		// Others were faster, or a node went: the same size elsewhere, if there is
		// such a place now; else the job is placed afresh.
		{elsewhere, retarget},
		{targetGone, closeNow(Fellback, "a node of the new placement can no longer be used")},
		{targetTaken, closeNow(Fellback, "the GPUs meant for it were taken meanwhile")},
		{is(Held), write},
	},
	// R5: size and incarnation stand on the held job.
	Written: {
		{ended, closeEnded},
		{held_, closeNow(UserWon, "held by its user or an administrator; waits to be released")},
		{is(Held), release},
		{is(Queued), released},
		{is(Running), released},
	},
	// R6: Slurm may start it.
	Released: {
		// The launch itself failed (a revoked credential, a broken node): the
		// program never ran, so the end is Slurm's, not the job's.
		{launchFailed, requeueAgain},
		{ended, closeEnded},
		{neverStopped, closeNow(UserWon, "still runs as before the move")},
		{notYetRestarted, waiting("waits for Slurm to start it")},
		{runningSilent, waiting("runs; waits for the first word of its runner")},
		{mute, closeRunning(Fellback)},
		{runningElsewise, closeRunning(Fellback)},
		{is(Running), closeRunning(Done)},
		// Slurm itself set it aside: this size cannot be had as it is written.
		{setAside, closeNow(Fellback, "Slurm cannot satisfy the size as written (BadConstraints); placed afresh")},
		// Held when sluice itself was due to hold it: the reply to its own hold was
		// lost, or it died before it wrote the hold down.
		{heldAsDue, closeNow(Fellback, "did not start in time; placed afresh")},
		{is(Held), userHeld},
		{targetGone, giveUp},
		// An ordinary job was faster: waiting for it to end would help nobody.
		{takenByOthers, giveUpTaken},
		{overdueFirst, fallBack},
		{overdue, giveUp},
		{is(Queued), waitingInSlurm},
	},
}

// Conditions.

func always(situation) bool       { return true }
func ended(s situation) bool      { return s.job.Phase == Ended }
func notRunning(s situation) bool { return s.job.Phase != Running && s.job.Phase != Suspended }

// userHolds: held while running, through Slurm or through sluice. A move would
// stop the job and leave it held.
func userHolds(s situation) bool {
	return s.job.Phase == Running && (s.job.UserHold || s.job.Directive.Hold)
}

func held_(s situation) bool { return s.job.Phase == Held && s.job.Directive.Hold }

func is(p Phase) func(situation) bool {
	return func(s situation) bool { return s.job.Phase == p }
}

func restartedSince(s situation) bool {
	return s.job.Phase == Running && s.job.Restarts > s.in.Restarts
}

// notYetRestarted: neither Slurm's count nor the runner, who reads the new
// incarnation only in the new run, says that it runs anew. A controller that lost
// its last minutes may count too few restarts.
func notYetRestarted(s situation) bool {
	return s.in.Kind == Resize && s.job.Phase == Running && s.job.Restarts <= s.in.Restarts && s.job.RunnerOf != s.in.To
}

func neverStopped(s situation) bool {
	return notYetRestarted(s) && lateBy(s, s.snap.Limits.Confirm)
}

func requeuedFromFailure(s situation) bool {
	return s.job.Phase == Ended && s.in.Fallbacks > 0 && !s.now.After(s.in.RequeuedAt.Add(requeuePatience))
}

func answered(s situation) bool { return s.job.Saved.Request == s.in.Request }

func answeredWell(s situation) bool  { return answered(s) && s.job.Saved.Checkpoint != "" }
func answeredBadly(s situation) bool { return answered(s) && s.job.Saved.Checkpoint == "" }
func answerGone(s situation) bool    { return s.job.Phase == Running && !answeredWell(s) }

func pastDeadline(s situation) bool { return s.now.After(s.in.AskedAt.Add(grace(s))) }

func grace(s situation) time.Duration {
	if s.job.Spec.Grace > 0 {
		return s.job.Spec.Grace
	}
	return s.snap.Limits.Grace
}

func runningUnstopped(s situation) bool {
	return s.job.Phase == Running && s.now.After(s.in.RequeuedAt.Add(requeuePatience))
}

func targetGone(s situation) bool {
	if s.in.AnyNodes {
		return false
	}
	for _, share := range s.in.Target {
		if s.job.Place.On(share.Node) >= share.GPUs && s.job.Phase == Running {
			continue // it is there already; a draining node keeps what it has
		}
		if !s.snap.usable(share.Node) {
			return true
		}
	}
	return false
}

func targetTaken(s situation) bool {
	return !s.in.AnyNodes && !s.snap.Available(s.in.Target, s.job)
}

func elsewhere(s situation) bool {
	return s.job.Phase == Held && (targetGone(s) || targetTaken(s)) && len(replacement(s)) > 0
}

// replacement is another placement of the same size on GPUs free now.
func replacement(s situation) nodes.Placement {
	p, _ := place(freeNow(s.snap, s.job), s.job, s.in.Target.GPUs())
	return p
}

func launchFailed(s situation) bool {
	return s.job.Phase == Ended && s.job.State == "FAILED" && s.job.Heartbeat.IsZero() &&
		s.in.Fallbacks <= maxFallbacks
}

func runningSilent(s situation) bool {
	return s.job.Phase == Running && s.job.Heartbeat.IsZero() && !lateBy(s, s.snap.Limits.Confirm)
}

// mute: it runs, and its runner never spoke; nothing says where it resumed.
func mute(s situation) bool { return s.job.Phase == Running && s.job.Heartbeat.IsZero() }

func runningElsewise(s situation) bool {
	if s.job.Phase != Running {
		return false
	}
	return s.job.GPUs() != s.in.Target.GPUs() ||
		(s.in.Checkpoint != "" && s.job.Resumed != s.in.Checkpoint)
}

func setAside(s situation) bool { return s.job.Phase == Held && s.job.Reason == "BadConstraints" }

func overdue(s situation) bool {
	return s.job.Phase == Queued && lateBy(s, s.snap.Limits.Confirm)
}

// overdueFirst: only a resize has a last good size to go back to.
func overdueFirst(s situation) bool {
	return overdue(s) && s.in.Kind == Resize && s.in.Fallbacks < maxFallbacks
}

// takenByOthers looks at one answer of Slurm alone, the one that shows the job
// still waiting: the node query is later and may show the job's own start.
func takenByOthers(s situation) bool { return s.job.Phase == Queued && othersHold(s) }

func heldAsDue(s situation) bool {
	return s.job.Phase == Held && !s.job.Directive.Hold &&
		(lateBy(s, s.snap.Limits.Confirm) || targetGone(s) || othersHold(s))
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

// Consequences.

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
		Deadline: s.now.Add(grace(s)), Why: s.in.Cause,
	}}
	next.Intent.Step, next.Intent.AskedAt = Asked, s.now
	return next
}

func noteCheckpoint(s situation) Next {
	next := Next{Intent: s.in, Again: true, Why: "checkpoint " + s.job.Saved.Checkpoint + " verified"}
	next.Intent.Step, next.Intent.Checkpoint = Verified, s.job.Saved.Checkpoint
	next.Intent.SavedAt = s.now
	// The job's own clock is finer than our polling; take it when it is sane.
	if at := s.job.Saved.Committed; at.After(s.in.AskedAt) && at.Before(s.now) {
		next.Intent.SavedAt = at
	}
	return next
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

// requeueAgain brings a job back whose launch failed, from the same checkpoint.
func requeueAgain(s situation) Next {
	next := Next{Intent: s.in, Why: "the launch failed in Slurm; tried again", Do: []Action{RequeueHold{Job: s.in.Job}}}
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

// fallBack returns to the last good size and lets Slurm choose the nodes.
func fallBack(s situation) Next {
	next := Next{Intent: s.in, Do: []Action{HoldPending{Job: s.in.Job}}}
	next.Why = "did not start in time (Slurm says " + s.job.Reason + "); back to the last good size"
	next.Intent.Step, next.Intent.Fallbacks = Requeued, s.in.Fallbacks+1
	next.Intent.AnyNodes, next.Intent.Target = true, s.in.From
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
