// Package audit compares what sluiced says it did with what Slurm says happened. It reads the
// event log of sluiced, slurmctld's log, the job completion log and, if there is one, a dump of
// the jobs. From these alone it derives that
//
//	I1 no job had two runs at once, and no two jobs had one token or one incarnation
//	I2 no adopted job was forgotten
//	I3 no job was stopped without a verified checkpoint, and every run began from
//	   the newest valid one
//	I4 no node gave more GPUs than it has, none twice, and sluiced knew where its
//	   jobs ran
//	I5 sluiced had written down every change of a job BEFORE Slurm made it
//	I8 no job but the service account's counts for another user than its own
//
// It imports nothing of sluice, so that a mistake is not made on both sides. The parsers read
// text and the checks are pure; only Read opens files. Slurm's records are trusted: an account
// that can write to slurmctld's log can mislead an audit.
package audit
