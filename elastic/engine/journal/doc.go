// Package journal defines what survives the daemon: records of jobs and of their runs, open moves,
// observed speeds, complaints about GPUs, and which programs have answered requests. It declares
// the interfaces and a Memory for simulations; elastic/store implements them in SQLite. Both pass
// the test suite in elastic/store/contract.
//
// Intend MUST return a move BEFORE its first effect on Slurm. Advance and Close come AFTER the effect;
// after a crash in between, the next daemon repeats it. Effects are safe to repeat, but a move
// that was not recorded could not be found again. When a method returns nil, all that it was
// given is durable; when it returns an error, nothing of it was written.
//
// A caller MUST use it in this ORDER:
//
//  1. Open, Jobs and Written, once, BEFORE anything is observed: a move that was open when the last
//     daemon died is carried on.
//  2. Intend, then the first effect; Advance AFTER each step's effects; Close AFTER the last one. A
//     move that ends by withdrawing its request is closed BEFORE that (execute).
//  3. SaveJobs BEFORE SaveSegments: a run is deleted with the record of its job.
//
// Any goroutine may call any method. What a method is given stays the caller's, and what it returns
// is the caller's: implementations copy (NormalIntent and its like), so that both return the same
// for the same calls. A context that has ended gives its error, and nothing is written.
package journal
