// Package observe does all reads of the engine: Slurm's jobs and nodes, its limits and accounting, the
// journal, and the files that jobs and their runners write. It changes nothing, decides nothing and
// keeps no state of jobs. The interfaces of an Observer can only read.
//
// A failed read is never treated as an empty result. An answer without any node is refused
// (ErrSuspicious), since every cluster has nodes. A folder that hangs gives an *Unanswered and a
// slow query ErrAsking; the caller then continues with the last known values.
//
// Jobs MUST be queried BEFORE nodes, so that the GPUs of a job that ends in between show as free.
// Between is called between two queries, so that a user's request does not wait for all reads of
// a cycle.
//
// The package also declares Mailbox, the shared file system as the daemon uses it. Its writing half,
// Outbox, is used by elastic/engine/execute alone.
package observe
