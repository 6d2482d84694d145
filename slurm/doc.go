// Package slurm holds the types for what Slurm reports and accepts: jobs, nodes, host
// lists, the changes that can be made to a job, and Slurm's errors. It imports the
// standard library only and does no I/O; the packages below it (command, fake, lab) speak
// to a Slurm.
package slurm
