// Package keeper decides about one sweep: which trial each lane runs next, which trials are paused,
// and when the sweep is over. Step is pure: it gets the book, what was read of the lanes and the
// time, and returns entries for the sweep's record.
//
// Its caller MUST, for each step and in this order:
//
//  1. read sweep.json, and make a Plan if its text has changed;
//  2. read the ask of each lane, and THEN the lane's new lines, which go into the book;
//  3. call Step, but only if all lines were read: a line that is missing may be an end;
//  4. append the entries to the sweep's record and flush it;
//  5. write what book.Teller says for each lane that asks.
//
// If 4 fails, the book has what the record lacks: the caller MUST make it anew from the record and
// the lines. A caller that is killed between 4 and 5 does 5 after its restart, from the same book.
//
// A Step goes through all trials for each lane that asks, and a suggestion may take O(n^3) time
// (gp): so it belongs into a goroutine of its sweep, not into the cycle. Nothing changes with time
// alone but Within: a caller may leave a step out if it has read nothing new.
package keeper
