// Package soak runs a real sluiced on a real Slurm for hours under random submits,
// cancels, resizes, holds, node failures, restarts and kills of slurmctld and of itself.
// It measures what must not grow: memory, file descriptors, goroutines and database. The
// records are audited at each kill and at the end, and every training must have made each
// of its steps.
package soak
