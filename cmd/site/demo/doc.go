// Package demo is the main job of sluice, shown on a real Slurm on loopback: six
// data-parallel training jobs grow, shrink, move and finish under the ids they
// were submitted with. It believes only Slurm and the jobs' own logs.
package demo
