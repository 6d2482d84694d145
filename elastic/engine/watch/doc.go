// Package watch is one look at the cluster: track says what is to be read next, observe reads it, and
// track takes it in, in the order that elastic/engine/track documents. It decides nothing.
//
// Load MUST come first, once: a look that was joined to no records would adopt every job anew. Then
// each cycle calls Observe and, AFTER it, Fold. An error of Observe says that the look is not
// whole; nothing MUST be decided on it, but what it found out before is kept.
//
// What has to be on record before the next question, such as the end of a job whose number another
// job has, is written through elastic/engine/execute.
package watch
