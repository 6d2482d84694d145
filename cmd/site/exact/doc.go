// Package exact holds a real training on a real Slurm against one that was never
// disturbed: resized between many sizes, and killed at random moments while it
// is being resized. Every step's loss must be the reference's, no step may be
// missing, and nothing newer than the last committed checkpoint may be lost more
// than once.
package exact
