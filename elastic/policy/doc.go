// Package policy decides how many GPUs each job gets: one table that names the policies,
// and the stages that the answer of every policy passes: limits, pools, backfill,
// measuring, and leaving nodes. The policies are in packages greedy and lookahead.
//
// A policy is a pure function from a Snapshot to an Allocation. It never asks
// for what cannot be placed: every size is tried with plan.Arrange, the same
// function that places it afterwards. Asked again and again while nothing but its
// own answers changes the cluster, it soon changes nothing.
package policy
