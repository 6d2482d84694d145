// Package bench measures sluice on a real Slurm on loopback. Every figure is a
// ratio to, or stands beside, a baseline measured in the same run.
package bench
