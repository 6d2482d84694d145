// Package policy decides how many GPUs each job gets: one file per policy, and
// one table that names them.
//
// A policy is a pure function from a Snapshot to an Allocation. It never asks
// for what cannot be placed: every size is tried with elastic.Arrange, the same
// function that places it afterwards. Asked again and again while nothing but its
// own answers changes the cluster, it soon changes nothing.
package policy
