// Package sweep is the vocabulary of hyper-parameter sweeps: what a user submits, and the files by
// which its lanes and the daemon communicate.
//
// A sweep is a folder of its user among those of jobs, named by the sweep's token. Its lanes are
// ordinary jobs, each with a folder of its own. Each side writes only in its own folders:
//
//	<jobs>/<sweep>/sweep.json      the user: what the sweep is (Sweep); `sluice sweep` rewrites it
//	<jobs>/<sweep>/script          the user's script, with {name} for parameters
//	<jobs>/<sweep>/submit.json     the user: what was typed, for lanes that are submitted later
//	<jobs>/<sweep>/lanes/<lane>/   a lane: it is one of the sweep's; empty
//	<jobs>/<sweep>/trials/<trial>/ a lane: the folder of a trial, as of a job: script, checkpoints
//	<jobs>/<sweep>/searcher/       the lane that has the Turn: what the program that is asked for
//	                               points was told and answered (Spoken), and its Status
//	<jobs>/<lane>/lane.json        a lane: it is ready for a trial (Ask)
//	<jobs>/<lane>/trials.jsonl     a lane: what happened to its trials (Event), one line each
//	<jobs>/<lane>/lane.2.json, trials.2.jsonl  the same for its second slot, and so on: see SlotName
//	<jobs>/<sweep>/sharing.1.json  a lane: how many trials run at once on so many GPUs (Sharing)
//	<outbox>/<lane>/trial.json     sluiced: the trial that it is to run (Tell), sealed for this Ask
//	<outbox>/<sweep>/sweep.json    sluiced: what it says of the sweep (Standing), and the Turn
//
// The order of what the two sides write is what makes a trial run once at a time, whichever of them
// is killed between any two lines of this table:
//
//	lane                                      sluiced
//	lane.json: an Ask                     ->  reads the Ask, THEN the lane's lines
//	                                          appends what it decides to its record, flushes it
//	                                      <-  THEN writes trial.json: a Tell
//	trials.jsonl: Began, THEN the trial starts (in pbt from another's checkpoint: Copied)
//	trials.jsonl: Reported, many times    ->
//	                                      <-  trial.json: the same trial, now with Stop
//	the trial saves and ends
//	trials.jsonl: EndedAs                 ->
//	THEN lane.json: a new Ask
//
// A lane asks only once it has written how its last trial ended. So a reader that reads the Ask
// BEFORE the lines knows that end when it answers; the other order would hand the trial out again.
// A lane that starts anew asks anew, which gives its last trial back.
//
// sluiced never looks into the folder of a trial. Everything it needs is in the lanes' lines, so a
// daemon that lost its own records reads them again.
package sweep
