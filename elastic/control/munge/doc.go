// Package munge makes and reads MUNGE credentials by way of the munge and
// unmunge programs: who is at the other end of a network, vouched for by the
// munged of his node, and a payload that nobody but the addressee can read.
//
// Every run has a deadline, its output a bound, its arguments no shell; what is
// secret goes through standard input. Nothing here reads a clock.
package munge
