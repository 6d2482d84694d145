// Package plan turns a policy's decision into moves: places for sizes, the order in which
// jobs can take them, and the moves to open now.
//
// A caller holds an elastic.Snapshot and the elastic.Allocation that a policy made of it, and
// MUST go through these steps in this ORDER, on that one snapshot:
//
//  1. Arrange(s, a) places the allocation: an Arrangement, with the nodes of each job and the
//     order in which jobs move. Each place fits beside the targets of all other jobs, and no
//     jobs wait for each other in a circle.
//  2. Reconcile(s, a, where) says which moves to open now, and for each job why it is, or is
//     not, moved: an elastic.Plan. It opens a move only when its GPUs are free and Slurm would
//     start the job there (limits, licenses, earlier refusals), at most Limits.Moves at once.
//  3. The caller gives each intent of Plan.Open its ID and MUST make it durable BEFORE any
//     effect of it (I5). From then on package resize says what the move does next, and the
//     next snapshot MUST have it among its Intents: a job with an open move gets no other.
//
// An arrangement promises GPUs that are still in use. So a plan is of its snapshot only: the
// next cycle arranges anew, and MUST NOT open what an earlier plan did not.
//
// Elsewhere and Refuses answer for one job in the middle of a move what Arrange and Reconcile
// answer for all: other GPUs of the same size, and a limit that is in the way of its target.
//
// The files: arrange.go and sketch.go place jobs; moveset*.go find an order of moves to given
// places; reconcile.go is a table of rules, with the counts it goes by in slots.go (moves by
// user), quota.go (limits of the site), licenses.go and refusal.go.
//
// Nothing here does I/O, reads a clock, logs or starts a goroutine, and the same arguments give
// the same result. A snapshot is not changed.
package plan
