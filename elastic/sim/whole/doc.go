// Package whole runs a workload through the daemon's own engine, on the in-memory
// Slurm of package world and in virtual time: every resize takes the whole protocol
// of checkpoint, requeue, update and release. It takes the configuration of
// package replay and gives the same result, so that the two can be compared; it
// is slower by far and meant for workloads of up to some hundred jobs.
package whole
