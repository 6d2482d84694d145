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
//
// # What a crash leaves
//
// Every write is one transaction, flushed to the write-ahead log before its call returns. A kill or
// a power loss inside a call leaves all of its rows or none of them; after the call has returned,
// it takes nothing back. The lock is the kernel's, and ends with the process.
//
// # One connection
//
// The store has one connection to SQLite: a call waits until the one before it has ended. Code that
// runs inside a call (the function that write is given, the scan of rows) MUST NOT call another
// method of the store: it would wait for the connection that it holds itself. Long reads (Past,
// Page) are many short calls, so that the cycle's writes get their turn between them.
//
// # Files
//
//	PATH                     the database, mode 0600
//	PATH-wal, PATH-shm       the write-ahead log and its index, while it is open and after a kill
//	PATH.lock                the pid of the daemon that holds the store, and how often it was opened; it stays
//	PATH.corrupt-TIME-WHAT   a damaged database that was set aside, the files beside it likewise
//	history.db               the history, see OpenHistory: another file in the same folder, without sums
//
// WHAT is header, log, pages, schema, rows, empty, missing, or history for history.db.
// A file that was set aside is never removed by this package.
package store
