// Package greedy has the policies that decide about numbers of GPUs, job by job or size by
// size, and try where these can be placed: knapsack, deadline, and the baselines.
package greedy
