// Package digest is a sweep cut down to what a page of it shows: a part of the table of trials, learning
// curves, and the metric over each parameter. It has the same bounds for a sweep of 10 trials and of 10,000.
//
// Of makes a Digest from a Source. There are two sources: the user's own folders, read by the user
// (own.View.Source), and what sluiced has read of them (offcycle.Sweeps.Digest), which sends the Digest as
// JSON (wire.SweepTrials). A page draws both alike.
package digest
