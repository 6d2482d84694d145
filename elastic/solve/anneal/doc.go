// Package anneal looks for sizes and places together by simulated annealing
// (Kirkpatrick, Gelatt and Vecchi, Science 220, 1983, p. 671): from a plan it goes on
// by small random changes (grow, shrink, swap, move, split, merge), keeps those that
// are worth more, and of those that are worth less the fewer the colder it has become.
// The plans are those of package joint, and so is what fits. The best plan there ever
// was is the answer, so it is never worth less than that it began with.
//
// Effort is a number of changes tried, never a time: the same plan and seed give the
// same answer on every machine. A change costs what the nodes it touches cost, however
// many jobs there are; only of one that is kept it is asked whether all can get there.
package anneal
