// Package knapsack solves the multiple-choice knapsack exactly, over explicit
// options: values may be negative and need not grow with weight. It knows
// nothing of jobs.
//
// Expand and Reduce take at most one option of each class, by dynamic
// programming. F[i][k] is the best total of the first i classes at weight k:
//
//	F[i][k] = best over options x of class i, and none, of F[i-1][k-weight(x)] + value(x)
//
// Among equal totals the one that takes options of the fewest classes wins;
// among those, the classes taken are the earliest, and of one class the option
// listed first.
//
// Choose takes exactly one option of each class and is made for large problems:
// it solves the linear relaxation, and then only the few classes of which
// another option could still beat the best choice known. It comes with a bound
// that no choice exceeds, which is its own value unless the work allowed ran out.
//
// Answers are deterministic: work is counted in steps, never in time.
package knapsack
