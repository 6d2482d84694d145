// Package site is a whole small site on loopback: a real Slurm (slurm/lab), a
// real sluiced beside it and a few Unix accounts. The demo, the benchmarks and
// the end-to-end tests all run on one.
package site
