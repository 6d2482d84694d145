// Package book is what is known of one sweep: its trials, their learning curves, and what its lanes
// were told.
//
// A Book follows from two sources alone: the sweep's record, whose entries are written BEFORE
// anything of them takes effect, and the lines that lanes write. So a daemon that is killed reads
// both and knows what it knew; one that lost the record finds the trials again in the lines of the
// lanes; and a user sees them without the daemon. Told derives from the book what a lane is to be
// told, so writing that again changes nothing.
package book
