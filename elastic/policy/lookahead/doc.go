// Package lookahead has the policies that choose sizes and nodes together, by the value of
// every place that a job could have: lookahead, annealing and welfare.
//
// One decision (decide.go) classifies the jobs, estimates their remaining times, plans for
// deadlines, admits waiting jobs, values the work that is left, and poses a problem for a
// solver (elastic/solve). The ORDER of these steps is the priority of the guarantees: what an
// earlier step requires enters the problem as a constraint, or with a value that outweighs
// everything a later step could gain (pose.go).
package lookahead
