// Package controltest is a daemon without a Slurm, for tests of the API and of the commands: a
// canned report with every state that a user can see, and a control.Service that records the
// calls it receives.
package controltest
