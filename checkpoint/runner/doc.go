// Package runner is what `sluice run` does inside a job, as the user, on the job's first
// node: it sets the script's environment for the present allocation, starts the script
// from the newest valid checkpoint, passes checkpoint requests on to the training
// program, verifies the answers, and returns the script's exit code.
//
// All decisions are in one pure function, step: from a state and an event to the next
// state and the effects. The other functions carry out the effects.
//
// The runner never calls Slurm, and a failure to write its own files never ends a job: it
// reports the failure on standard error and tries again.
package runner
