// Package greedy has the policies that decide about numbers of GPUs, job by job or size by
// size, and try whether these can be placed: knapsack, deadline, and the baselines.
//
// Each decision is one round. The ORDER of its steps is the priority of the jobs: what a step
// has planned, later steps may only reduce where its own rule says so. Every size is tried with
// plan.Arrange BEFORE it is planned (try.go).
package greedy
