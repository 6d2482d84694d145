// Package engine is the cycle of sluiced: it looks at the cluster, decides which job has which
// GPUs, and carries out the moves that follow. It has no timer and no goroutine of its own, and
// reads no clock: callers pass the time and are told when to come again.
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
//	0 load     the journal is read, once, before anything is observed           watch, observe
//	1 observe  jobs, then nodes, then the small files of the jobs that run       watch, observe
//	2 fold     what was seen becomes what is known                               track, learn
//	3 act      by a snapshot of that open moves go on                            track, eligible, execute
//	4 decide   a snapshot of what they left decides alone: policy, places, moves policy, plan
//	5 record   new moves are in the journal BEFORE their first effect            execute
//	6 act      their first steps, then what is due outside of moves              execute
//	7 confirm  what was learnt is durable, and the report is replaced            execute, publish
//
// A move is opened on nodes that were read in this cycle, and on limits that are at most a second old.
// Where either is older it is read, and the decision is made again by one more snapshot. So a cycle in
// peace makes one, and one that moves jobs two; a third is made only where the site's limits changed
// between moves that went on and new ones.
//
// # Rooms
//
// Each room is a package below this one, and imports only those above it in this list:
//
//	event     what happened, for the log
//	eligible  which jobs and GPUs a policy may see; pure
//	learn     samples become curves and predictors; reads samples from their store, once
//	journal   what survives the daemon, and its interfaces
//	observe   every read of Slurm, of the journal and of jobs' folders
//	track     what is known between two looks, and how a look changes it; no effects
//	execute   every effect: Slurm, the journal, jobs' folders
//	watch     one look: what track wants to know, in order, read by observe
//	publish   the report that readers get
package engine
