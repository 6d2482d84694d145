// Package munge makes and reads MUNGE credentials by asking munged on its socket. A credential
// identifies the user of a node across a network, vouched for by the munged of that node, and
// carries a payload that only the addressed account can read.
//
// It implements version 4 of the protocol between libmunge and munged (that of munge 0.5.15)
// and starts no process: a forged credential costs one exchange on a local socket. Munged takes
// the identity of its client from the socket (SO_PEERCRED). Every exchange has a deadline and
// every answer a size bound. Nothing here reads a clock.
package munge
