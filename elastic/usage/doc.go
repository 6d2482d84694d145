// Package usage adds up what jobs used in a time range: GPU-hours, waits, moves and what these
// cost, deadlines. It is a pure function of the stored records of jobs and their runs;
// etc/doc/report.md says for people how each figure is computed and what it leaves out.
//
// A range is half-open: [From, To). Figures that count events (ends, first runs, moves, deadlines)
// have each event at one moment, and GPU-seconds are cut at the range's ends. So the figures of
// adjacent ranges add up to those of both together. Exceptions are Running and Waiting, which are
// states at To, and the waits' median and longest.
//
// A Book and a Recent are filled with Add, each job once, in any order, and THEN read. They have no
// locks and read no clock: the caller gives them the end of the range, which MUST NOT be in the
// future, and at most the last time that Slurm was seen, since a run without an end counts up to
// it. Runs MUST be all of a job's, by Restarts: what a move cost needs the run before it.
package usage
