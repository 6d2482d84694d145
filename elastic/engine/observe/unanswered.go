package observe

import (
	"errors"
	"time"
)

// Unanswered is the error of a Mailbox while a read or a write of the job's folder has not returned:
// the file system hangs or is slow. A write may still be carried out.
type Unanswered struct {
	Since time.Time // when the oldest of them began
}

// Error says since when the folder has not answered.
func (u *Unanswered) Error() string {
	return "its folder has not answered since " + u.Since.Format(time.TimeOnly)
}

// ErrAsking is returned by an Accountant or a Limiter while Slurm has not answered. A later call
// returns the answer.
var ErrAsking = errors.New("Slurm has not answered yet")
