// Package welfare decides who runs where so that social welfare is greatest: what
// their runs are worth to the users, less what running them costs the provider.
// What users pay the provider cancels out. It knows nothing of Slurm: a job is a
// gang of tasks, all of them on nodes or none, in one of several ways; an edge joins
// a task and a node that it may be on; the provider's cost of each kind of resource
// is convex in its use.
//
// Genetic searches, Exact is for problems small enough, and Bound says of any what no
// plan exceeds. All are deterministic: effort is counted, randomness comes from a seed.
package welfare
