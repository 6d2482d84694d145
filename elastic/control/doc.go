// Package control is sluiced's API: JSON over HTTP on a unix socket. It holds
// the wire types, the server, the client, the caller's identity as the kernel
// tells it, and the one table that says who may do what.
//
// The server answers reads from the last published engine.Report, so that no
// number of readers costs Slurm a query. The daemon implements Service; command
// line tools call Dial. Nothing here reads a clock or starts a timer of its own.
package control
