// Package contract is the contract of journal.Journal and journal.Samples as one test suite. It
// runs on every implementation, so that what is tested with memory holds for the disk.
package contract
