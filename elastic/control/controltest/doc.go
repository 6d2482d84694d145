// Package controltest is a daemon without a Slurm for tests of the API and of
// the commands: a canned report in which every state a user can meet occurs, and
// a control.Service that records what it was asked.
package controltest
