package observe

import (
	"errors"
	"time"
)

// Unanswered is what a Mailbox returns while a read or a write of the job's folder is under
// way that has not returned: the file system hangs, or is slow. A write may still be
// carried out.
type Unanswered struct {
	Since time.Time // when the oldest of them was asked for
}

// Error says since when the folder has not answered.
func (u *Unanswered) Error() string {
	return "its folder has not answered since " + u.Since.Format(time.TimeOnly)
}

// ErrAsking says that Slurm was asked and has not answered yet, of an Accountant or a
// Limiter. The answer is handed out to a later call.
var ErrAsking = errors.New("Slurm has not answered yet")
