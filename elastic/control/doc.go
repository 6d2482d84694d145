// Package control is sluiced's API: JSON over HTTP on a unix socket, and the same
// requests in munge credentials over TCP for other login nodes. It holds the wire
// types, the server, the client, the caller's identity as the kernel or munge
// tells it, and the one table that says who may do what.
//
// The server answers reads from the last published engine.Report, so that no
// number of readers costs Slurm a query. The daemon implements Service; command
// line tools call Dial. Nothing here reads a clock; timers only cut off
// whoever keeps the server waiting.
package control
