// Package contract is the contract of engine.Journal and engine.Samples as one test suite. It
// runs on every implementation, so that what is tested with memory holds for the disk.
package contract
