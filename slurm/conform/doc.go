// Package conform is one suite of promises that sluice relies on and every
// slurm.Client must keep: the fake in virtual time, and the real programs on a
// real Slurm of every release at hand. A difference between the two is a bug in
// the fake.
//
//	conform.Run(t, conform.Fake())           // an instant
//	conform.Run(t, conform.Lab(t, lab, ...)) // about a minute
//
// RunLimits holds a Subject to what is promised about limits of accounts and QOS, and whom
// partitions let in; a lab
// needs slurmdbd for it.
//
// Each check borrows nodes of its own, so that checks run side by side on a real
// cluster without meeting. To add a promise, add a row to one of the tables.
package conform
