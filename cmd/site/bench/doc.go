// Package bench measures sluice on a real Slurm on loopback. Every figure is relative to
// a baseline measured in the same run, or printed beside it.
package bench
