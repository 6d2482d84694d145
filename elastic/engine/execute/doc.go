// Package execute has the only effects of the engine: it changes Slurm, the journal, the store of
// speeds and jobs' folders, and notes in the state what came of it.
//
// # Order
//
// Record MUST have returned a move BEFORE Act is called with it: every move stands in the journal
// before its first effect. Act takes one move through the table (elastic/resize) and for each row
//
//  1. tells of the effect, and carries it out;
//  2. has the journal take the step;
//  3. replaces the move in the state.
//
// A crash after 1 repeats the effect in the next life, so that every effect can be repeated without
// harm. A move whose end is only that its request is withdrawn is closed in the journal BEFORE that:
// otherwise a crash in between would let the answer of a job that trains on count for the move.
//
// Save makes durable what a cycle learnt: records, runs, speeds, answers, complaints about GPUs. It
// MUST come after all folding of a cycle; what is lost before is learnt again from the same files.
//
// # Failures
//
// An effect that failed is not tried again in the same cycle. Where Slurm refused, the move ends, and
// the job trains on or is placed afresh; where Slurm did not answer, the effect may still come, and the
// next look shows which. Where slurmctld is down, or the context has ended, all other moves wait for the next cycle.
package execute
