// Package engine is the cycle: observe, fold, decide, record, act, confirm. It
// declares the seams it needs and owns no timer; the caller passes the time and
// is told when to come again.
package engine
