package control

import (
	"errors"
	"syscall"
)

// Caller is who is at the other end of the socket, as the kernel says.
type Caller struct {
	UID  uint32
	GID  uint32
	PID  int32  // of the process that connected; may be gone
	Name string // user name; the number when there is no such account
}

// isRefused reports whether nobody listens on a socket that exists.
func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
