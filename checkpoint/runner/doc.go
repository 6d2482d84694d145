// Package runner is what `sluice run` does inside a job, as the user, on the
// job's first node: it gives the script its true environment, starts it from
// the newest valid checkpoint, hands checkpoint requests on to the training
// program, verifies the answers, and keeps the exit code.
//
// The decisions are in one pure function, step: from where the runner is and
// what happened to where it is then and what to do. Everything else performs.
//
// The runner never calls Slurm, and no failure of its own files ends a job: a
// runner that cannot write its word says so on standard error and tries again.
package runner
