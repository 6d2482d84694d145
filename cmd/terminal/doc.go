// Package terminal is the user interface of sluice's programs on a terminal: tables and
// messages that escape other users' text, JSON, errors in the form of Slurm's tools,
// suggestions for misspelled verbs, and signals.
package terminal
