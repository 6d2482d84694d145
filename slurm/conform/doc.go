// Package conform is one suite of the behaviour that sluice relies on, called promises,
// which every slurm.Client must show: the fake in virtual time, and the real programs on
// a real Slurm of every installed release. A difference between the two is a bug in the
// fake.
//
//	conform.Run(t, conform.Fake())           // an instant
//	conform.Run(t, conform.Lab(t, lab, ...)) // about a minute
//
// RunLimits checks a Subject for what is promised about limits of accounts and QOS, and
// about access to partitions; a lab needs slurmdbd for it.
//
// Each check borrows its own nodes, so that checks run in parallel on a real
// cluster. To add a promise, add a row to one of the tables.
package conform
