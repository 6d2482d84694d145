// Package ranks is what `sluice ranks` does: started once on every node of a
// job, it starts one training process for each GPU there and numbers them
// across the nodes by the GPUs that each node really has. Beside them it starts a
// job's other kinds of tasks: all together or none.
package ranks
