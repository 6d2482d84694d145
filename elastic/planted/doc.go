// Package planted tries the tests: testdata lists deliberate faults in sluice's
// own code, each an edit of a few words, and for each the tests that must notice
// it. An edit is laid over the source while a test program is built (go build
// -overlay), so that no file of sluice carries a fault or a switch for one.
//
// A fault counts as caught when those tests pass without it and fail with it, by
// what they assert: a program that does not build, panics or hangs caught nothing.
//
// Beside them mutants are made by rule from the syntax of whole files (mutate_test.go) and
// tried in the same way against the fast tests of their package (mutants_test.go). There a
// panic and a hang count: each makes a day's tests red. What does not build was no mutant.
// The libraries that make mutants of Go programs change the source or copies of it. Here
// files are laid over, a sample is drawn by a seed, and reasons stand beside equivalents.
package planted
