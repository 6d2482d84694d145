// Package joint chooses sizes and places together: for each job one of its possible places, so
// that the sum of their values is as large as possible and no node is over-committed. It knows
// nothing about time, speeds or policies: a job is a list of options with values.
//
// Build places given sizes, in an order. Improve takes a few jobs off the cluster at a time and
// puts them back at other sizes, and keeps what is better. Both are deterministic: randomness
// comes from a seed. A Change is one such step, for other searches; Exact enumerates all plans,
// for small problems.
package joint
