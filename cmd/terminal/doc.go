// Package terminal is how sluice's programs speak to whoever typed the command: words and
// tables that no other user's words can break, JSON, errors as Slurm's tools print them,
// suggestions for misspelled verbs, and signals.
package terminal
