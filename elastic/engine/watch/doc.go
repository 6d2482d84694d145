// Package watch makes one observation of the cluster: track says what to read next, observe reads it,
// and track updates its state, in the order that elastic/engine/track documents. It decides nothing.
//
// Load MUST be called first, until it succeeds: without records, an observation would adopt every job
// as new. Then each cycle calls Observe and, AFTER it, Fold. After an error of Observe the
// observation is incomplete, and the caller MUST NOT decide on it. Updates before the error are kept.
//
// What must be recorded before the next query, such as the end of a job whose number was given to
// another, is written through elastic/engine/execute.
//
// A cycle is therefore, with the calls of package engine that lie between left out:
//
//	if err := w.Load(ctx, now); err != nil { return err }   // once; tried again in each cycle
//	w.Rewind(now)                                           // BEFORE anything compares times with now
//	seen, err := w.Observe(ctx, now)
//	if err != nil { return err }                            // no Fold, no decision (I6)
//	w.Fold(ctx, seen, now)
//	snap := w.Snapshot(seen, now)
//
// All calls belong to the goroutine of the cycle. The number of queries of an observation does not
// depend on how many jobs there are (I7): one for jobs, one for nodes, those for the site's limits if
// they are due, at most track.MaxLookups for single jobs that are missing and as many for splits, and
// one more for all jobs if many are missing. How jobs ended is one query of accounting.
package watch
