// Package welfare decides which jobs run where so that social welfare is as large as possible:
// the value of their runs to the users, less the cost of running them to the provider. What
// users pay the provider cancels out. It knows nothing about Slurm. A job is a gang of tasks,
// which run all or not at all, in one of several ways; an edge connects a task with a node that
// it may be on; the provider's cost of each kind of resource is convex in its use.
//
// Genetic searches, Exact solves problems that are small enough, and Bound returns an upper
// bound for any problem. All are deterministic: effort is counted, randomness comes from a
// seed.
//
// The usual order: Greedy from the plan in which every job has no nodes, or stays, in both its
// ways; Genetic from these plans; then Exact from its result where jobs and nodes are few, to prove
// it, or Bound at its welfare, to say how far it can be from the optimum. Check tests a plan that
// comes from elsewhere.
//
// Nothing here changes a problem or a plan that it is given. Plans may have the lists of nodes in
// common with each other: a caller MUST NOT change these either.
package welfare
