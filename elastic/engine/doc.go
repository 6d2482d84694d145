// Package engine is the cycle of sluiced: it observes the cluster, decides the allocation of each
// job, and carries out the resulting moves. It has no timer and no goroutine, and reads no
// clock: callers pass the time, and Cycle returns when to call it again.
//
// # Use
//
//	e := engine.New(engine.Config{Seams: seams, Rules: rules, Policy: policy})
//	for {
//		wake, err := e.Cycle(ctx, now())
//		report(err)       // nothing was decided; the next cycle starts from what it sees
//		waitUntil(wake)   // or until something happened
//	}
//
// An Engine belongs to one goroutine. Report alone may be called by any. Of the other methods
//
//   - Direct and Meet may also be called from within a cycle, by Config.Between, which the cycle
//     calls before each effect and between two queries;
//   - all others MUST be called between two cycles.
//
// What a method reports as done is durable when it returns. Callers MUST have checked that the user
// may do what Direct, Order and Trust are asked for; the engine knows no rights.
//
// # The order of a cycle
//
// Each step MUST come AFTER the one above it.
//
//	0 load     read the journal, once, before anything is observed               watch, observe
//	1 observe  read jobs, then nodes, then the files of running jobs             watch, observe
//	2 fold     update the state from the observation                             track, learn
//	3 act      make a snapshot; advance the open moves by it                     track, eligible, execute
//	4 decide   from a snapshot after that: sizes, placements, moves              policy, plan
//	5 record   write new moves to the journal BEFORE their first effect          execute
//	6 act      their first steps, then actions that belong to no move            execute
//	7 confirm  save what changed, and replace the report                         execute, publish
//
// A move is opened only on nodes that were read in this cycle, and on limits that are at most 2 s
// old (observe.LimitsFresh): a query for them begins after step 3 if a job was stopped there while another
// one waits, for the cycle that starts the other one. If either is older it is read again, and the decision is repeated on a new snapshot if
// nodes were read or the limits changed. A cycle makes one snapshot, and a second one if open moves
// advanced or the decision is repeated. Nodes are always read while a move is open, so that a
// third is made only if the limits changed.
//
// # Rooms
//
// Each room is a package below this one, and imports only those above it in this list:
//
//	event     events for the log
//	eligible  which jobs and GPUs a policy may use; pure
//	learn     fits curves and predictors to samples; reads each series of samples once
//	journal   the data that survives the daemon, and its interfaces
//	observe   all reads of Slurm, the journal and jobs' folders
//	track     the state between two cycles and its updates; no I/O
//	execute   all effects on Slurm, the journal and jobs' folders
//	watch     one observation: what track asks for, in order, read by observe
//	publish   the report for readers
package engine
