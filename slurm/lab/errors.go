package lab

import (
	"errors"
	"fmt"
	"strings"
)

// Kinds of failure. Test with errors.Is.
var (
	// ErrInUse: the directory holds a lab, running or stopped.
	ErrInUse = errors.New("the directory is in use")
	// ErrNoLab: the directory holds no lab.
	ErrNoLab = errors.New("no lab here")
	// ErrMissing: a Slurm or munge program is not installed.
	ErrMissing = errors.New("programs are missing")
	// ErrNotOwner: only the account that started the lab may change it.
	ErrNotOwner = errors.New("not your lab")
	// ErrUnhealthy: a daemon ended or a node did not come up in time.
	ErrUnhealthy = errors.New("the lab is not healthy")
	// ErrBackup: the primary controller is back and the backup, which had control, does not stand by. It is an
	// ErrUnhealthy, too.
	ErrBackup = errors.New("the backup controller does not stand by")
	// ErrConfig: the Config is invalid.
	ErrConfig = errors.New("bad lab configuration")
)

// Error is one failed lab operation.
type Error struct {
	Op   string   // as a user would type it: "lab up", "lab down"
	Dir  string   // the lab's directory; may be empty
	Err  error    // one of the Err values above, possibly wrapped with detail
	Log  []string // last lines of the failing daemon's output; may be empty
	Hint string   // what to type next; may be empty
}

// Error returns what happened, where, the daemon's last lines, and what to do.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Dir != "" {
		fmt.Fprintf(&b, " %s", e.Dir)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if e.Hint != "" {
		fmt.Fprintf(&b, " (%s)", e.Hint)
	}
	for _, line := range e.Log {
		fmt.Fprintf(&b, "\n  | %s", line)
	}
	return b.String()
}

// Unwrap returns the kind of failure.
func (e *Error) Unwrap() error { return e.Err }
