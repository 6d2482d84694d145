// Package store keeps the daemon's journal (intents, jobs, segments, complaints about GPUs) and
// the learned throughput in one SQLite file. Every call is durable when it returns. It is the
// only package besides nodes/nvml that uses cgo.
//
// A caller MUST use it in this ORDER:
//
//  1. Open, once per daemon. It locks the store against other daemons, checks everything in
//     it, and migrates it. The notices that it returns MUST reach a person.
//  2. The methods of journal.Journal and journal.Samples, from any goroutine. An intent is
//     written by Intend BEFORE its first effect; Advance replaces it AFTER the effects of a
//     step; Close ends it. Several records in one call are stored all or none.
//  3. After an error, Damage tells whether the file is damaged. A daemon that sees damage has
//     to stop: the next Open sets the file aside.
//  4. Shutdown, AFTER the last call.
//
// The file is a cache of what cannot be read from Slurm: a lost or damaged one is replaced by
// an empty one, and the daemon finds its jobs again by their comments. So a damaged file is set
// aside, never repaired. A file of a newer sluice, of another program or of another daemon is
// refused and not changed.
//
// Every row has a checksum, and every table a tally of its rows. They show what SQLite itself
// does not notice: rows that vanished, came back or were exchanged. A schema change
// (migrations/) MUST keep both.
package store
