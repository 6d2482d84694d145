// Package slurm is the vocabulary of what Slurm says and accepts: jobs, nodes,
// host lists, the changes a job may be asked to take, and the errors Slurm
// answers with. It imports the standard library only and does no I/O; the rooms
// below it (command, fake, lab) speak to a Slurm.
package slurm
