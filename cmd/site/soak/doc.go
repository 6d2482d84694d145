// Package soak lets a real sluiced live on a real Slurm for hours among random
// submits, cancels, resizes, holds, node failures, restarts and kills of slurmctld
// and of itself, and watches what must not grow: its memory, file descriptors,
// goroutines and database. Every record is audited each time it was killed and at
// the end, and every training must have made each of its steps.
package soak
