// Package audit holds what sluiced says it did against what Slurm says happened.
// It reads the event log of sluiced, slurmctld's log, the job completion log and,
// where there is one, a dump of the jobs, and derives anew from these alone that
//
//	I1 no job had two runs at once, and no two jobs one token or one incarnation
//	I2 no job that was taken up was forgotten
//	I3 no job was stopped without a verified checkpoint, and every run began from
//	   the newest valid one
//	I4 no node gave more GPUs than it has, none twice, and sluiced knew where its
//	   jobs ran
//	I5 sluiced had written down every change of a job before Slurm made it
//
// It imports nothing of sluice, so that no mistake is made on both sides. The
// parsers read text and the checks are pure; only Open reads files. What Slurm's
// records say is believed: who can write to slurmctld's log can mislead an audit.
package audit
