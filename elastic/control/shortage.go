package control

import (
	"errors"
	"fmt"
	"time"
)

// acceptAgain is how long a listener waits if no connection can be accepted. Without the pause
// it would loop at full speed, since the connection stays in the kernel's queue.
const acceptAgain = 50 * time.Millisecond

// shortage logs once that connections cannot be accepted, usually for lack of file descriptors,
// and once that they can be again.
type shortage struct {
	log   func(error)
	since int // number of failures since it began
}

// passing reports whether err, of Accept, is temporary; nil ends the shortage.
func (s *shortage) passing(err error) bool {
	if err == nil {
		if s.since > 0 {
			s.log(fmt.Errorf("requests are taken again; %d times one could not be", s.since))
		}
		s.since = 0
		return false
	}
	var slow interface{ Temporary() bool }
	if !errors.As(err, &slow) || !slow.Temporary() {
		return false
	}
	if s.since++; s.since == 1 {
		s.log(fmt.Errorf("no request can be taken for now: %w; see LimitNOFILE of sluiced.service, and /proc/PID/fd for what holds them", err))
	}
	return true
}
