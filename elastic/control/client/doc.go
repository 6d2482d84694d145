// Package client speaks to a sluiced: over its Unix socket (Dial), or over TCP in
// credentials of munge (DialRemote). Every call has a deadline of its own; all errors
// are *wire.Error.
package client
