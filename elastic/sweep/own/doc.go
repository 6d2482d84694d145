// Package own reads a user's sweeps from the user's own folders. Nothing needs to be running for that:
// the trials are in the lines of the lanes. What sluiced says of a sweep, its level, is read where it
// writes it for the user, and may be missing.
//
// A program that prints once calls Find and Read. A program that goes on, such as the pages, keeps a
// Reader, which reads what was added since.
package own
