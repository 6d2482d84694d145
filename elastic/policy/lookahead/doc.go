// Package lookahead has the policies that choose sizes and nodes together, by the value of
// every place that a job could have: lookahead, annealing and welfare.
//
// One decision (decide.go) classifies the jobs, estimates their remaining times, plans for
// deadlines, admits waiting jobs, values the work that is left, and poses a problem for a
// solver (elastic/solve). The ORDER of these steps is the priority of the guarantees: what an
// earlier step requires enters the problem as a constraint, or with a value that outweighs
// everything a later step could gain (pose.go).
//
// The snapshot MUST list its jobs in the order in which they are to start, and is not changed. The
// Allocation belongs to the caller. It has a Decision for every job, with the Place of each that
// has or gets GPUs: at another place a size may not be worth the move.
//
// Effort is counted in steps, never in time, and the random seed depends on the ids of the jobs
// only. So one snapshot always gives one answer.
//
//	lookahead   value.go, solve in decide.go    shadow prices, in seconds
//	annealing   value.go, annealing.go          the same objective, another search
//	welfare     welfare*.go                     money per hour; plans for no deadlines
//
// Values of lookahead and annealing have no unit: a job's worth, in seconds, divided by its
// remaining time at a place, in seconds. Work is in units of the job (epochs or steps), sizes are
// in GPUs.
package lookahead
