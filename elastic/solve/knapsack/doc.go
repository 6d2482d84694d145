// Package knapsack solves the multiple-choice knapsack problem exactly, over explicit options:
// values may be negative and need not grow with weight.
//
// Expand and Reduce take at most one option of each class, by dynamic programming. F[i][k] is
// the best total of the first i classes at weight k:
//
//	F[i][k] = best over options x of class i, and none, of F[i-1][k-weight(x)] + value(x)
//
// Ties: of equal totals the one with options of the fewest classes wins; of those, the one with
// the earliest classes, and within a class the option listed first.
//
// Choose takes exactly one option of each class and is made for large problems: it solves the
// linear relaxation, and then only the few classes of which another option could still improve
// the best choice known. It returns an upper bound of all choices, which equals its own value
// unless the budget ran out.
//
// Answers are deterministic: work is counted in steps, never in time.
//
// Which call answers which question:
//
//	Expand  at most one option of each class, weight at most capacity, largest value
//	Choose  exactly one option of each class, weight at most capacity, largest value
//	Reduce  at most one option of each class, weight at least need and as little above it as
//	        possible, smallest cost
//
// The caller's classes are read during the call only, and not changed. What a call returns is in
// memory of the Solver: a caller that makes another call MUST copy what it needs BEFORE.
package knapsack
