// Package offcycle keeps slow and hanging file systems, disks and databases off the goroutine
// that decides. A Mailbox reads and writes jobs' folders in a bounded number of goroutines, and
// waits for each only briefly. Samples stores speeds in its own goroutine, an Accountant
// queries slurmdbd in another, and a Limiter queries the site's limits in a third, and a Sharer the
// tree of shares in a fourth.
//
// Each type has the interface of what it is put in front of, so that the engine does not know of
// it:
//
//	Mailbox                       jobs' folders            waits 50 ms for a read, 500 ms for a write
//	Limiter, Sharer, Accountant   queries of Slurm         wait 2 s for the first answer, then not at all
//	Samples                       speeds in the store      adding never waits; reading waits for the store
//	History                       the history's file       adding never waits
//	Sweeps                        the folders of sweeps    nothing of a cycle waits for it
//	Closing                       the journal              in the cycle; passes on what was stored
//
// # Use
//
// A caller MUST
//
//  1. make a Limiter, Sharer or Accountant with the context of the daemon, not of a cycle: a query
//     outlives the call that began it;
//  2. set Sweeps.Changed BEFORE Run;
//  3. start Run of Samples, History and Sweeps, each in one goroutine of its own;
//  4. call Samples.Flush AFTER the last cycle and AFTER Run has returned, with a bound: Run stores
//     nothing more once its context has ended. History.Run stores what is left by itself.
//
// # What hangs
//
// A goroutine in a system call on a dead server cannot be ended. It is left, and what counts is
// that there are few of them: see crew for folders, the bounds of Sweeps, and one query at a time
// for each of the others. Moves and job records are not here: no move may begin before it is
// recorded (I5), so a store that hangs does hold the cycle up.
//
// What waits in this package is lost if the daemon dies. Only such data may go through it as a
// restart finds again, or whose loss costs quality and not correctness.
package offcycle
