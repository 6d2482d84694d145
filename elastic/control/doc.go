// Package control is the server of sluiced's API: JSON over HTTP on a Unix socket, and the same
// requests in munge credentials over TCP for other login nodes. It takes the caller's identity
// from the kernel or from munge, and holds the one table of permissions (authorise.go). The
// types of requests and answers are in package wire, the client is in package client.
//
// A caller MUST use a Server in this ORDER:
//
//  1. Listen makes the socket, with Options and a Service, which the daemon implements.
//  2. ListenRemote, if the site has a TCP address, BEFORE Serve. The process MUST run as
//     Options.UID, the account that clients encrypt their credentials for.
//  3. Serve, once. It answers until its context ends, waits up to 2 s for requests under way,
//     and removes the socket. A server that is not to Serve is closed with Close.
//
// The Service is called from many goroutines at once. The report that it returns is shared:
// neither side may change it after it was published.
//
// Reads are answered from the last published report, so any number of readers costs Slurm no
// query. An order is authorised BEFORE the Service sees it, for the incarnation that the caller
// named. Nothing here reads a clock; timers only close connections of clients that keep the
// server waiting, and keep quiet streams of events alive.
package control
