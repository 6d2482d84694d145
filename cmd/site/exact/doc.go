// Package exact compares a real training on a real Slurm with one that was never
// disturbed. The training is resized between many sizes, and killed at random moments
// while it is being resized. Every step's loss MUST be the reference's and no step may be
// missing. A resize may lose no step, and after a kill the job MUST resume from the
// newest checkpoint that was committed and complete, so that only the steps after that
// one are repeated.
package exact
