package track

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/eligible"
	"github.com/sluice-hpc/sluice/slurm"
)

// How a job waits: by its begin time, or held by its user.

// setAside is Slurm's reason for a job whose size it cannot allocate.
const setAside = "BadConstraints"

// HeldByPerson reports whether a user or an administrator holds the job. Slurm gives priority 0 also to
// a job whose size it cannot allocate, and to one whose dependency cannot be satisfied (barred).
func HeldByPerson(sj slurm.Job, barred bool) bool {
	return sj.Held && sj.Reason != setAside && !barred
}

// olderHold reports whether the hold that Slurm shows is that of an older sluice, which held every
// waiting job. Slurm's reason is JobHeldUser, or "job requeued in held state" if the job has run.
func olderHold(sj slurm.Job, tag elastic.Tag) bool {
	return sj.State == slurm.Pending && sj.Held && !sj.Completing && sj.Reason != eligible.HeldByAdmin && sj.Reason != setAside && !tag.Deferred && !tag.Directive.Hold
}

// holdDue reports whether its user ordered a hold that Slurm does not have yet. written is the tag in
// the job's comment: the order is written there after it was carried out. An older sluice only
// wrote it.
func holdDue(sj slurm.Job, order elastic.Directive, written elastic.Tag) bool {
	done := written.Directive.Hold && written.Deferred
	return order.Hold && !done && !sj.Held && !sj.Completing && !sj.State.Ended()
}

// releaseDue reports whether its user ordered the end of a hold that Slurm still has.
func releaseDue(js *Job) bool {
	sj, ordered := js.Shown.Slurm, js.Placing.Release || js.Shown.commented.Directive.Hold && !js.Rec.Tag.Directive.Hold
	return ordered && HeldByPerson(sj, js.Rec.Barred) && !sj.Completing && sj.Reason != eligible.HeldByAdmin
}

// releasedInSlurm reports whether its user ended a hold through Slurm that sluice has as an order.
func releasedInSlurm(js *Job) bool {
	sj := js.Shown.Slurm
	return sj.State == slurm.Pending && !sj.Held && js.Rec.Tag.Directive.Hold && !js.PendingTag
}

// stopsOlder reports whether the job may be stopped for a move of an older sluice, which is then held: it
// is already and is still cleaned up, or it has an open move and the stop may come.
func stopsOlder(sj slurm.Job, moves bool) bool {
	return moves || sj.Held && sj.Completing
}

// waitingTag completes the part of a comment that says how the job waits, and reports whether it
// differs now. The record (known) wins over the comment, which is written later. Once an older
// sluice's hold is over, the job waits by its begin time. moves: the job has an open move. Deferred
// says that the job waits by a begin time, Begin which one its user wants, SbatchBegin that this is
// still the one of sbatch: it is read from Slurm once, before sluice writes its own.
func waitingTag(tag, known elastic.Tag, sj slurm.Job, moves bool) (_ elastic.Tag, differs bool) {
	if !tag.Deferred && (known.Deferred || !olderHold(sj, tag) && !stopsOlder(sj, moves)) {
		tag.Deferred, differs = true, true
	}
	switch {
	case tag.SbatchBegin && !known.SbatchBegin:
		tag.SbatchBegin, tag.Begin, differs = false, known.Begin, true
	case tag.SbatchBegin && !sj.Eligible.IsZero():
		tag.SbatchBegin, tag.Begin, differs = false, sj.Eligible.UTC(), true
	case !tag.SbatchBegin && !known.SbatchBegin && !tag.Begin.Equal(known.Begin):
		tag.Begin, differs = known.Begin, true
	}
	return tag, differs
}

// beginOf is the begin time that its user gave the job; zero = none is known.
func beginOf(tag elastic.Tag, sj slurm.Job) time.Time {
	if tag.SbatchBegin {
		return sj.Eligible
	}
	return tag.Begin
}
