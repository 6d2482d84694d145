// Package greedy has the policies that decide about numbers of GPUs, job by job or size by
// size, and try whether these can be placed: knapsack, deadline, and the baselines.
//
// Each decision is one round. The ORDER of its steps is the priority of the jobs: what a step
// has planned, later steps may only reduce where its own rule says so. Every size is tried with
// plan.Arrange BEFORE it is planned (try.go).
//
// There are three kinds of round:
//
//	knapsack.go  knapsack: six steps, whose reductions and growths are exact knapsacks
//	divide.go    a rule divides numbers of GPUs, and carry fits its answer to the nodes:
//	             optimus, afs, srpt, edf, maxspeedup, deadline, elasticflow, and tiresias
//	             where jobs may be stopped (Limits.Preempt)
//	queue.go     jobs start in order of arrival and are never resized: fcfs, ef, and
//	             tiresias where jobs may not be stopped
//
// The snapshot MUST list its jobs in the order in which they are to start: ties are decided by it.
// It is not changed, and the Allocation belongs to the caller. The first two kinds of round decide
// about every job and leave Decision.Place nil: plan.Arrange then finds the places of the last
// trial again. A queue sets the Place of each job that it starts. With more than mostExplained
// jobs it may have no Decision for a job that stays as it is.
//
// Units: sizes are GPUs, times are seconds, and work is in units of the job (epochs or steps); a
// speed is in seconds per unit.
package greedy
