// Package welfare decides which jobs run where so that social welfare is as large as possible:
// the value of their runs to the users, less the cost of running them to the provider. What
// users pay the provider cancels out. It knows nothing about Slurm. A job is a gang of tasks,
// which run all or not at all, in one of several ways; an edge connects a task with a node that
// it may be on; the provider's cost of each kind of resource is convex in its use.
//
// Genetic searches, Exact solves problems that are small enough, and Bound returns an upper
// bound for any problem. All are deterministic: effort is counted, randomness comes from a
// seed.
package welfare
