// Package planted tests the tests. testdata lists deliberate faults in sluice's own code, each
// an edit of a few words, and for each the tests that must catch it. An edit is laid over the
// source while a test program is built (go build -overlay), so that no file of sluice contains
// a fault or a switch for one.
//
// A fault counts as caught if those tests pass without it and fail with it, by an assertion: a
// program that does not build, panics or hangs caught nothing.
package planted
