// Package planted tests the tests. testdata lists deliberate faults in sluice's own code, each
// an edit of a few words, and for each the tests that must catch it. An edit is laid over the
// source while a test program is built (go build -overlay), so that no file of sluice contains
// a fault or a switch for one.
//
// A fault counts as caught if those tests pass without it and fail with it, by an assertion: a
// program that does not build, panics or hangs caught nothing.
//
// # Where an edit is made
//
// "in FOLDER func (T) Name" before an edit names a function; it is found in whichever file of
// the folder has it. "func Name", "const Name", "var Name" and "type Name" name other
// declarations, and FILE.go instead of a folder one file. In a declaration the old text is
// found by its Go tokens: comments, blanks and the breaking of lines do not count. Nor do the
// names of what the declaration itself declares: receiver, parameters, results and variables
// may have other names in the source, each one and always the same, and the new text is
// written with those. So a planted fault still fits after a variable has another name, a comment is
// changed or a line is broken; where it then fits twice or not at all, it is refused.
//
// What the new text names is to be seen in the old text too, or in the address, by position:
// "in elastic/engine/execute func (e Executor) refused(ctx, _, _, _, now)" says what the edit calls the
// receiver, the first and the fifth parameter; results follow in a second pair of brackets.
// Names that are nothing in the file are refused, since such a fault would not build.
//
// "in FILE" alone is for what is not in a declaration of Go (imports, Python, SQL, testdata):
// the old text stands there exactly once, letter by letter.
//
// Beside them mutants are made by rule from the syntax of whole files (mutate_test.go) and
// tried in the same way against the fast tests of their package (mutants_test.go). There a
// panic and a hang count: each makes a day's tests red. What does not build was no mutant.
// A program that a signal from outside ended, twice, is unjudged: neither caught nor tried.
// The libraries that make mutants of Go programs change the source or copies of it. Here
// files are laid over, a sample is drawn by a seed, and reasons stand beside equivalents.
package planted
