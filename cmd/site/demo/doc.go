// Package demo shows the main function of sluice on a real Slurm on loopback: six
// data-parallel training jobs grow, shrink, move and finish under the ids with which they
// were submitted. Its results come only from Slurm and the jobs' own logs.
package demo
