// Package site is a complete small site on loopback: a real Slurm (slurm/lab), a real
// sluiced and a few Unix accounts. The demo, the benchmarks and the end-to-end tests run
// on one.
package site
