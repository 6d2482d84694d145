// Package client talks to a sluiced: over its Unix socket (Dial), or over TCP with munge
// credentials (DialRemote). Every call has its own deadline; all errors are *wire.Error.
package client
