// Package observe reads: Slurm's jobs and nodes, its limits and its accounting, the journal, and what
// jobs and their runners wrote into their folders. It changes nothing, decides nothing and knows
// nothing of jobs but what it is asked about. An Observer's seams are interfaces that can only read.
//
// What was not read is never taken for what is not there. An answer without any node is refused
// (ErrSuspicious), since every cluster has nodes; a folder that hangs gives an *Unanswered, a slow
// query ErrAsking, and the caller goes on with what was known.
//
// Jobs MUST be asked for BEFORE nodes, so that GPUs which a job of the first answer has left show free
// in the second. Between two queries the Observer calls Between, so that an order of a user does not wait for all of
// a cycle's reads.
//
// The package also declares Mailbox, the shared file system as the daemon uses it. Its writing half,
// Outbox, is used by elastic/engine/execute alone.
package observe
