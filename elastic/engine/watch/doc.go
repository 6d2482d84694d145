// Package watch makes one observation of the cluster: track says what to read next, observe reads it,
// and track updates its state, in the order that elastic/engine/track documents. It decides nothing.
//
// Load MUST be called first, until it succeeds: without records, an observation would adopt every job
// as new. Then each cycle calls Observe and, AFTER it, Fold. After an error of Observe the
// observation is incomplete, and the caller MUST NOT decide on it. Updates before the error are kept.
//
// What must be recorded before the next query, such as the end of a job whose number was given to
// another, is written through elastic/engine/execute.
package watch
