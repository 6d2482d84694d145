// Package ranks is what `sluice ranks` does: started once on every node of a job, it
// starts one training process for each GPU there and numbers the processes across the
// nodes, whose numbers of GPUs may differ. Beside them it starts the job's other kinds of
// tasks: all of them or none.
package ranks
