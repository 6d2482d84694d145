// Package munge makes and reads MUNGE credentials by asking munged on its socket:
// which user of a node is at the other end of a network, vouched for by the munged of
// that node, and a payload that the addressee alone can read.
//
// It speaks version 4 of the protocol between libmunge and munged (that of munge
// 0.5.15) and starts no process: a forged credential costs one exchange on a local
// socket. Munged takes the identity of its client from the socket (SO_PEERCRED).
// Every exchange has a deadline and every answer a bound. Nothing here reads a clock.
package munge
