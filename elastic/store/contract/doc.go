// Package contract is the promises of journal.Journal and journal.Samples as one
// test suite, run on every implementation, so that what is tested against memory
// holds for the disk.
package contract
