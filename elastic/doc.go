// Package elastic is the vocabulary of sluice: jobs, snapshots, decisions and moves.
//
// A job is submitted through sluice and lives under one Slurm job id. Its Spec says which sizes
// it accepts; the Tag in the job's comment carries it. A Snapshot is all that a decision may
// depend on, the time included: jobs, nodes, limits of the site (Cap) and what Slurm refused
// lately (Refused, Blocked). A policy turns a Snapshot into an Allocation: a Decision for each
// job, with its reason.
//
// Package plan turns both into a Plan: the moves to open. An Intent is one move of one job (a
// start, a resize, a stop) from incarnation n to n+1, through the steps R1 to R7. Package
// resize says what to do next for an open one: Actions, effects as values.
//
// One cycle MUST go through these steps in this ORDER; package engine does:
//
//  1. Observe Slurm and the jobs' folders, and make one Snapshot of it. All later steps read
//     that Snapshot and no newer state.
//  2. Advance the open intents (package resize), which has the rule for when an intent is
//     recorded and when its actions are carried out.
//  3. Decide: a policy makes an Allocation (package policy).
//  4. Plan: Arrange and Reconcile (package plan). Each new Intent is durable in the journal
//     BEFORE the first of its effects (invariant I5).
//
// Invariants that every type here assumes:
//
//   - A job has at most one open intent. Its incarnation grows by one with each move and is
//     never used twice.
//   - The GPUs of a job are counted where it is bound (Snapshot.Committed): at the target of
//     its open move, else at its place. GPUs of an open move's target count as taken BEFORE the
//     job runs there.
//   - Only Slurm's state and the job's comment decide what a job is; the journal holds what
//     Slurm cannot, and may be lost.
//
// Nothing here does I/O, reads a clock, logs or starts a goroutine. Values are not changed
// after they were passed on; methods that change something return a changed copy.
package elastic
