package sbatch

import (
	"strconv"
	"strings"
	"time"
)

// Limit is the time limit that a job asks for.
type Limit struct {
	// Most is the longest time that it must be allowed: that of --time-min, else of
	// --time. 0 = without end.
	Most time.Duration
	// At is the option as it was given, for messages.
	At string
}

// TimeLimit returns the time limit the job asks for; ok is false where it asks for none,
// or in a way that only sbatch knows.
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

// parseLimit reads a time limit as sbatch does: M, M:S, H:M:S, D-H, D-H:M and D-H:M:S, in
// whole minutes, rounded up; 0, UNLIMITED, INFINITE and -1 are without end.
func parseLimit(value string) (time.Duration, bool) {
	switch strings.ToUpper(value) {
	case "UNLIMITED", "INFINITE", "-1":
		return 0, true
	}
	if n, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(n) * time.Minute, true
	}
	d, ok := slurmTime(value)
	return (d + time.Minute - 1).Truncate(time.Minute), ok
}
