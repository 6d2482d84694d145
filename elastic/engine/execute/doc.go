// Package execute performs all effects of the engine: it changes Slurm, the journal, the store of
// speeds and jobs' folders, and updates the state with the results.
//
// # Order
//
// Record MUST have returned a move BEFORE Act is called with it: every move is in the journal
// before its first effect. Act takes each move through the resize table (elastic/resize) and, for
// each row,
//
//  1. logs the effects, and carries them out;
//  2. records the step in the journal;
//  3. replaces the move in the state.
//
// After a crash between 1 and 2 the next daemon repeats the effect, so that every effect MUST be
// safe to repeat. A move that ends by withdrawing its request is closed in the journal BEFORE the
// request is withdrawn. Otherwise a crash in between would leave an open move with the answer
// of a job that has continued training.
//
// Save stores what changed in a cycle: records, runs, speeds, answers, the books of shares (at most
// once a minute), complaints about GPUs. It MUST be called AFTER all folding of the cycle. What is
// lost before is read again from the same files; of the books it is lost.
//
// # Failures
//
// A failed effect is not tried again in the same cycle. If Slurm refused it, the move ends, and the
// job continues or gets a new placement. If Slurm did not answer, the effect may still be
// carried out; the next observation shows whether it was. If slurmctld is down, or the context
// has ended, all other moves wait for the next cycle.
//
// # Users' requests
//
// Direct and Redate may also be called between two effects of a cycle (Between), Trust and Record
// of a single move only between two cycles. Each is durable when it returns nil, and is not in
// force when it returns an error. The caller MUST have authorised the user.
package execute
