// Package elastic is the vocabulary of sluice: what jobs, decisions and moves are.
//
// A job is submitted through sluice and lives under one Slurm job id. Its Spec
// says which sizes it accepts, and travels in a Tag. A Snapshot is everything a
// decision may depend on, the time included: jobs, nodes, limits of the site
// (Cap) and what Slurm refused lately (Refused, Blocked). A policy turns a
// Snapshot into an Allocation: a Decision for each job, with its reason.
//
// Package plan turns both into a Plan: the moves to open. An Intent is one move
// of one job (a start or a resize) from incarnation n to n+1, through the steps
// R1 to R7. Package resize says what follows next: Actions, effects as values.
//
// Nothing here does I/O, reads a clock, logs or starts a goroutine.
package elastic
