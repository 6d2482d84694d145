package slurm

import (
	"context"
	"time"
)

// Deferrer is the part of Client by which a job is kept from starting with a begin time
// instead of a hold. A deferred job is PENDING with its full priority, and Slurm starts it
// by itself at its size once its begin time has passed, so that no job is lost if its begin
// time is no longer renewed.
//
// What a caller MUST know:
//   - Job.Eligible shows the begin time, Job.Deferred whether the job waits for it. Reason
//     is BeginTime only after the scheduler looked at the job; after any update it is None
//     until the next pass.
//   - No method sets or lifts a hold. A held job stays held whatever its begin time is, and
//     does not start at its begin time; a user's release of a held job leaves the begin
//     time as it is.
//   - Slurm runs no pass of its scheduler at a begin time: the job starts at the next pass
//     after it. See Client.RequestPass.
//   - A job's age, which priority/multifactor adds to its priority, counts from its begin
//     time on. Where slurmctld enforces limits (AccountingStorageEnforce) it counts anew
//     after each change of the begin time; elsewhere a job that was eligible once keeps its
//     age, which grows also while it is deferred again.
//   - A begin time is compared with slurmctld's clock, and is written by this machine's. If
//     slurmctld's clock is ahead of ours, a begin time that is no longer in the future there
//     becomes the present second.
//   - Any change may take effect after its call was given up (ErrUnknownOutcome). Defer and
//     Start then do no harm to a job that has started in the meantime. RequeueFailed and
//     RequeueLingering may stop a run that began in the meantime.
type Deferrer interface {
	// RequeueRunning stops a running job and leaves it pending: COMPLETING while its last
	// run is cleaned up, then PENDING with a begin time that is the requeue delay ahead
	// (121 s by default, see Job.Eligible; a site's cred_expire or requeue_delay changes
	// it to 6 s or more), and its priority kept. Slurm starts it by itself then, at the
	// size it has by then. A job that was held while it ran stays held. A suspended job is
	// requeued too, and is then held as by an administrator: suspending sets priority 0.
	//
	// A job in any other state (also one that has ended, was cancelled or is COMPLETING)
	// is left unchanged, without an error. ErrRefused if the job was submitted with
	// --no-requeue.
	RequeueRunning(ctx context.Context, id JobID) error
	// RequeueFailed requeues a job in state FAILED, so that it is pending as after
	// RequeueRunning. A job in any other state is left unchanged, without an error.
	// ErrWrongState if it left that state during the call.
	RequeueFailed(ctx context.Context, id JobID) error
	// RequeueLingering makes Slurm forget the last run of a pending job that it still
	// shows on nodes (Job.Lingers): the job is cancelled, then requeued, so that it is
	// pending as after RequeueRunning. A job that is already cancelled is requeued too, so
	// call it only for a job that an earlier RequeueLingering may have cancelled. A job in
	// any other state is left unchanged, without an error.
	RequeueLingering(ctx context.Context, id JobID) error

	// Defer sets the begin time of a pending job to until, rounded up to a whole second.
	// It is an absolute time, so that a repeated or late call writes the same, and a call
	// of unknown outcome is settled by a look at Job.Eligible. It must be more than a
	// second ahead: ErrRefused otherwise.
	//
	// ErrWrongState if the job is not pending, also if it starts at this moment; a running
	// job is not harmed. On a job that is COMPLETING after a requeue it is accepted, and
	// kept if until is still in the future when the clean-up is over: the job then has no
	// requeue delay.
	Defer(ctx context.Context, id JobID, until time.Time) error
	// Start sets the begin time of a pending job to the next second, so that the next pass
	// of the scheduler after it may start the job. It is not the present second: a run
	// that starts in the second in which the last one was killed is FAILED ("Job
	// credential revoked").
	//
	// ErrWrongState if the job is not pending. MUST NOT be called while the job is
	// COMPLETING: it is accepted, and then overwritten by the requeue delay.
	Start(ctx context.Context, id JobID) error
	// StartFirst is Start for a job that has never run: it sets the begin time to the present
	// second, so that the next pass of the scheduler may start the job, however soon that
	// comes. MUST NOT be called for a job that has run, see Start.
	StartFirst(ctx context.Context, id JobID) error
}

// Deferred reports whether the job is pending, not held, and waits for its begin time: it
// does not start before Eligible. now is the time of slurmctld's clock, within a second.
// While the job is Completing its begin time may still change, see Deferrer.
func (j Job) Deferred(now time.Time) bool {
	return j.State == Pending && !j.Held && j.Eligible.After(now)
}
