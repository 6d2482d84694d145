// Package control is the server of sluiced's API: JSON over HTTP on a unix socket, and
// the same requests in munge credentials over TCP for other login nodes. It holds the
// caller's identity as the kernel or munge tells it, and the one table that says who may
// do what. The types of requests and answers are in wire, the client in client.
//
// The server answers reads from the last published publish.Report, so that no
// number of readers costs Slurm a query. The daemon implements Service. Nothing here
// reads a clock; timers only cut off whoever keeps the server waiting.
package control
