package sbatch

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Limit is the time limit that a job requests.
type Limit struct {
	// Most is the time that must be allowed at least for the job to start: --time-min,
	// else --time. 0 = unlimited.
	Most time.Duration
	// At is the option as typed, for messages.
	At string
}

// TimeLimit returns the time limit that the job requests; ok is false if it requests
// none, or in a form that only sbatch reads.
func (r Request) TimeLimit() (l Limit, ok bool) { return r.limit, r.limit.At != "" }

// limits reads --time and --time-min.
func (m *merger) limits() {
	for _, name := range []string{"time-min", "time"} {
		s, given := m.chosen[name]
		if !given {
			continue
		}
		if most, ok := parseLimit(s.value); ok {
			m.request.limit = Limit{most, s.where()}
		}
		return
	}
}

// mostMinutes is the longest time limit that sluice counts with, in minutes: 292 years.
const mostMinutes = math.MaxInt64 / uint64(time.Minute)

// parseLimit reads a time limit as sbatch does: M, M:S, H:M:S, D-H, D-H:M and D-H:M:S, in
// whole minutes, rounded up; 0, UNLIMITED, INFINITE and -1 mean unlimited.
func parseLimit(value string) (time.Duration, bool) {
	switch strings.ToUpper(value) {
	case "UNLIMITED", "INFINITE", "-1":
		return 0, true
	}
	if n, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(min(n, mostMinutes)) * time.Minute, true
	}
	d, ok := slurmTime(value)
	return (d + time.Minute - 1).Truncate(time.Minute), ok
}
