// Package resize is the table of the resize protocol: from an open move and the job as observed
// to what to do next.
//
// An elastic.Intent is one move of one job, from incarnation n to n+1. It goes through the
// steps R1 to R7. Advance depends only on the last step that is known to be durable and on what
// was observed, so normal operation and recovery after a crash are the same code.
//
// A caller MUST do this with each open move, in each cycle and in this ORDER:
//
//  1. The intent is in the journal BEFORE the first call (I5).
//  2. Advance(in, job, snap), with the job as this cycle observed it. A job that Slurm has
//     forgotten is given as a Job with Phase Ended.
//  3. If Next.Refused or Next.Obstacle is set, it is recorded with the job (elastic.Refused),
//     so that what Slurm refused is not requested again at once.
//  4. If Next.Close is set and all actions withdraw a request, the intent is closed BEFORE the
//     request is withdrawn: after a crash in between, the answer of a job that trains on would
//     count for the move.
//  5. Else the actions of Next.Do are carried out one after the other. If one fails, nothing is
//     recorded, and the next cycle begins again at step 2. So an action may be carried out more
//     than once, which does no harm.
//  6. Only AFTER all of them succeeded Next.Intent is made durable; if Next.Close is set, the
//     intent is closed with that outcome instead.
//  7. If Next.Again is set, go back to step 2 at once, with Next.Intent, which MUST be in the
//     snapshot too: no new observation is needed. Else the move waits for the next cycle, for
//     the reason Next.Why.
//
// The order of rows within a step is their priority: the first row whose condition holds decides.
// A row that closes the move because its job is over comes first. An effect comes AFTER every
// row that would make it wrong, and a row without a condition (always) comes last.
//
// The table is in advance.go, its conditions are in advance_when.go, its consequences in
// advance_then.go; obstacle.go and pass.go have both for Slurm's reasons not to start a job.
// testdata/advance.txt prints the table in every circumstance.
//
// Nothing here does I/O, reads a clock, logs or starts a goroutine.
package resize
