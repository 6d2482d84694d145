// Package knapsack solves the multiple-choice knapsack exactly by dynamic
// programming: of each class of options at most one is taken. It knows nothing
// of jobs.
//
// F[i][k] is the best total of the first i classes at weight k:
//
//	F[i][k] = best over options x of class i, and none, of F[i-1][k-weight(x)] + value(x)
//
// Options are explicit: values may be negative and need not grow with weight.
// Answers are deterministic. Among equal totals the one that takes options of
// the fewest classes wins; among those, the classes taken are the earliest, and
// of one class the option listed first.
package knapsack
