// Package book is what is known of one sweep: its trials, their learning curves, and what its lanes
// were told.
//
// A Book follows from two sources alone: the sweep's record, whose entries are written BEFORE
// anything of them takes effect, and the lines that lanes write. So a daemon that is killed reads
// both and knows what it knew; one that lost the record finds the trials again in the lines of the
// lanes; and a user sees them without the daemon. Told derives from the book what a lane is to be
// told, so writing that again changes nothing.
//
// The order in which a Book is filled MUST be this one:
//
//	b := New()
//	b.Apply(e)    for every entry of the record, in its order
//	b.Take(l, e)  for every line of every lane: each once, of one lane in its order, lanes in any
//	              order, until all have been read once
//	b.Found()     is recorded: what lanes began and the record lacks
//	              THEN keeper.Step may decide, which applies its entries itself
//	              the entries are flushed to the record, and only THEN
//	b.Teller(s)   says what is written for each lane
//
// Step on a book that lacks lines would take trials for running that have ended. A book that was
// stepped, but whose entries could not be recorded, MUST be thrown away and made anew.
//
// A Book has no locks: it belongs to one goroutine. Trials are never removed, so a *Trial is valid
// as long as the book; callers read it and never change it.
package book
