// Package anneal searches for sizes and places together by simulated annealing (Kirkpatrick,
// Gelatt and Vecchi, Science 220, 1983, p. 671). From a plan it makes small random changes
// (grow, shrink, swap, move, split, merge). It keeps those that gain, and keeps those that lose
// with a probability that falls with the temperature. The plans, and what fits, are those of
// package joint. The best plan found is the result, so it is never worse than the initial one.
//
// Effort is the number of changes tried, never a time: the same plan and seed give the same
// result on every machine. The cost of a change depends on the nodes it touches, not on the
// number of jobs; only for a change that is kept it is checked whether all jobs can reach their
// places.
//
// The caller makes a joint.Search and a plan that fits, usually by Build and Improve of package
// joint, and calls Improve. Afterwards the search is at the best plan found.
package anneal
