// Package plan turns a policy's decision into moves: places for sizes, the order in which jobs
// can take them, and the moves to open now.
//
// A caller holds an elastic.Snapshot and the elastic.Allocation that a policy made of it. It
// MUST go through these steps in this ORDER, on that one snapshot:
//
//  1. Arrange(s, a) places the allocation. The Arrangement has the nodes of each job and the
//     order in which jobs move. Each place fits beside the targets of all other jobs, and no
//     jobs wait for each other in a circle.
//  2. Reconcile(s, a, where) returns which moves to open now, and for each job why it is moved,
//     or is not: an elastic.Plan. It opens a move only if its GPUs are free and Slurm would
//     start the job there (limits, licenses, earlier refusals), and at most Limits.Moves at
//     once.
//  3. The caller gives each intent of Plan.Open its ID and MUST make it durable BEFORE any
//     effect of it (invariant I5). From then on package resize says what the move does next.
//     The next snapshot MUST have it among its Intents: a job with an open move gets no other.
//
// An arrangement may use GPUs that are still in use. So a plan is valid for its snapshot only:
// the next cycle arranges anew, and MUST NOT open what an earlier plan did not.
//
// Policies call Arrange too, to see what an allocation would come to. Plan.Reasons has one entry for
// each job, in the order of the snapshot; Plan.Open has at most one move for each job.
//
// The order of jobs matters. Jobs that only give GPUs back come first, then jobs that start,
// then the others in the order of the snapshot; a job that waits for GPUs keeps them from all
// jobs behind it. Without that rule a stream of small jobs could delay a large one for ever.
//
// Elsewhere and Refuses answer for one job during a move: other GPUs of the same size, and the
// limit that blocks its target.
//
// The files: arrange.go and sketch.go place jobs; moveset*.go find an order of moves to given
// places; reconcile.go is a table of rules, with the counts it uses in slots.go (moves by
// user), quota.go (limits of the site), licenses.go and refusal.go.
//
// Nothing here does I/O, reads a clock, logs or starts a goroutine, and the same arguments give
// the same result. A snapshot is not changed.
package plan
