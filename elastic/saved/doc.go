// Package saved estimates what changing sizes saved: it replays the jobs that ended, each at one
// fixed size, first come first served with backfill on as many GPUs as sluice's jobs really had,
// and compares waiting, completion and GPU-hours with what happened. What is not known, the size
// that a user would have chosen and the speed at sizes that were not measured, is varied; the result
// is a range. Pure.
package saved
