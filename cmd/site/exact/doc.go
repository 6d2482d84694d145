// Package exact holds a real training on a real Slurm against one that was never
// disturbed: resized between many sizes, and killed at random moments while it
// is being resized. Every step's loss must be the reference's and no step may be
// missing; a resize may lose none, and after a kill the job must resume from the
// newest checkpoint that was committed and whole, so that only the steps after
// that one are trained again.
package exact
