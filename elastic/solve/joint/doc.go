// Package joint chooses sizes and places together: for each job one of its possible places, so
// that the sum of their values is as large as possible and no node is over-committed. It knows
// nothing about time, speeds or policies: a job is a list of options with values.
//
// Build places given sizes, in an order. Improve takes a few jobs off the cluster at a time and
// puts them back at other sizes, and keeps what is better. Both are deterministic: randomness
// comes from a seed. A Change is one such step, for other searches; Exact enumerates all plans,
// for small problems.
//
// The order of calls:
//
//  1. NewSearch(p) reads the problem. From then on the caller MUST NOT change it.
//  2. Build, for each list of sizes and each order worth a try, and after each Build that returns
//     true, BEFORE the next one, Plan: a search is at one plan at a time.
//  3. Improve, from the best of these plans.
//
// A caller that searches by steps of its own calls Resume instead of Improve and then, for each
// Change: Begin; Off for a job BEFORE its Best, Fit or Home; Gain; and, if that is worth it,
// Reachable. A change that is not wanted it MUST Undo BEFORE the next Begin.
//
// A job without GPUs has the value 0.
package joint
