// Package bound computes how short the mean JCT of a replay can be at all: a
// number that no policy goes below, whatever it knows of the future.
//
// # Why it holds
//
// Let n(j,t) be the GPUs of job j in slot t, C(j) its end and r(j) its submit. Any
// replay keeps sum_j n(j,t) <= GPUs in each slot. Put a price L(t) >= 0 on a
// GPU-second; then, for what the replay did,
//
//	sum_j C(j)-r(j)  >=  sum_j C(j)-r(j) + sum_t L(t) slot (sum_j n(j,t) - GPUs)
//
// since what was added is not above zero. The right side is a sum over jobs minus
// the constant GPUs*sum_t L(t)*slot, and each job's part is at least the least that
// job could pay alone at those prices, for its time and for its GPUs. So for any
// prices the sum of those least costs, minus the constant, bounds the sum of JCTs
// from below: Lagrangian relaxation (Held and Karp 1971, Fisher 1981). The prices
// only decide how good the bound is; a subgradient ascent looks for good ones.
//
// A job's least cost is bounded from below the same way: with a worth m of a unit
// of work, its cost is at least end - r + m*work less the most that any schedule up
// to that end earns at m and L. That most is a longest path over slots with a
// state for each size. For each end the dearest of several worths counts, for the
// job the cheapest of the ends; within a slot, the lowest point of the lines that
// the worths draw from its start to its end.
//
// # What is kept and what is relaxed
//
// Kept: no GPU before the round after the submit; every start and every change of
// size costs the restart; the sizes a job accepts; where slots are rounds, a job
// that ends within a round holds its GPUs to the round's end; with Config.Keep, a
// started job keeps its minimum; with Config.Prompt, it starts in its first round.
//
// Relaxed: the GPUs of a slot are respected on average over schedules, not in each
// one; any job may have its fastest split at any time, so placement and
// fragmentation cost nothing, and moves at one size are free; the future is known;
// no policy's rules hold, such as the order of starts. Splits that Config.Splits
// does not list are taken to be no faster than those it does.
package bound
