// Package journal defines what survives the daemon: records of jobs and of their runs, open moves,
// observed speeds, complaints about GPUs, and which programs have answered requests. It declares
// the interfaces and a Memory for simulations; elastic/store implements them in SQLite. Both pass
// the test suite in elastic/store/contract.
//
// Intend MUST return a move BEFORE its first effect on Slurm. Advance and Close come AFTER the effect;
// after a crash in between, the next daemon repeats it. Effects are safe to repeat, but a move
// that was not recorded could not be found again. When a method returns nil, all that it was
// given is durable; when it returns an error, nothing of it was written.
package journal
