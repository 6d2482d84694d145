// Package elastic is the vocabulary and the pure core of sluice.
//
// A job is submitted through sluice and lives under one Slurm job id. Its Spec
// says which sizes it accepts. A Snapshot is everything a decision may depend
// on, the time included. A policy turns a Snapshot into an Allocation (GPUs per
// job), placement turns that into node lists, and Reconcile turns both into a
// Plan: Intents to open and Actions to perform, each with its reason.
//
// An Intent is one move of one job (a start or a resize) from incarnation n to
// n+1. It walks through the steps R1 to R7; Advance is the table of that walk:
// a pure function from (intent, observed job) to what to do next. Because the
// table looks only at what is durable and what is observed, recovery after a
// crash and normal work are the same code.
//
// Nothing here does I/O, reads a clock, logs or starts a goroutine.
package elastic
