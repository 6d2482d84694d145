package slurm

import (
	"errors"
	"fmt"
	"strings"
)

// Kinds of failure. Test with errors.Is.
var (
	// ErrNotFound: Slurm does not know the job or node.
	ErrNotFound = errors.New("no such job")
	// ErrPermission: the caller may not do this.
	ErrPermission = errors.New("permission denied")
	// ErrControllerDown: slurmctld could not be reached; nothing was done.
	ErrControllerDown = errors.New("slurmctld cannot be reached")
	// ErrDatabaseDown: slurmdbd could not be reached.
	ErrDatabaseDown = errors.New("slurmdbd cannot be reached")
	// ErrUnknownOutcome: the call was cut off; it may or may not have taken effect, now
	// or later. Query before doing anything else.
	ErrUnknownOutcome = errors.New("timed out, outcome unknown")
	// ErrRefused: Slurm understood the request and refused it.
	ErrRefused = errors.New("refused by Slurm")
	// ErrAgain: refused, but the same request may succeed if repeated at once.
	ErrAgain = fmt.Errorf("%w for now", ErrRefused)
	// ErrWrongState: the job is no longer in a state that allows this, for
	// example no longer pending, or already ended.
	ErrWrongState = errors.New("the job's state does not allow it")
	// ErrGarbage: Slurm answered something that cannot be read.
	ErrGarbage = errors.New("unreadable answer from Slurm")
	// ErrMissingProgram: the Slurm command is not installed.
	ErrMissingProgram = errors.New("Slurm command not found")
)

// Error is one failed call, with Slurm's own text.
type Error struct {
	Op    string // the command as a user would type it: "scontrol requeuehold"
	JobID JobID  // 0 when the call concerns no single job
	Err   error  // one of the Err values above
	Words string // what Slurm printed, as one line, control characters removed
	Hint  string // what to type next; may be empty
}

// Error returns what happened, to which job, Slurm's text, and what to type next.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.JobID != 0 {
		fmt.Fprintf(&b, " %d", e.JobID)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if e.Words != "" {
		fmt.Fprintf(&b, ": %s", e.Words)
	}
	if e.Hint != "" {
		fmt.Fprintf(&b, " (%s)", e.Hint)
	}
	return b.String()
}

// Unwrap returns the kind of failure.
func (e *Error) Unwrap() error { return e.Err }
