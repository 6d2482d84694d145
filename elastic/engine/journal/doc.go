// Package journal is what must survive the daemon: records of jobs and of their runs, open moves,
// observed speeds, what was said of GPUs, and which programs have answered. It declares the
// interfaces, and has a Memory that keeps them for simulations; elastic/store keeps them in SQLite.
// Both pass the suite in elastic/store/contract.
//
// Intend MUST return a move BEFORE its first effect on Slurm. Advance and Close come AFTER the effect,
// which the next life repeats where they did not: effects can be repeated, a forgotten move cannot be
// found again. What a method was asked to write is durable when it returns nil, and nothing of it is there
// when it returns an error.
package journal
