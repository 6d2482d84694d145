// Package keeper decides about one sweep: which trial each lane runs next, which trials are paused,
// and when the sweep is over. Step is pure: it gets the book, what was read of the lanes and the
// time, and returns entries for the sweep's record.
package keeper
