package story

import (
	"testing"
	"time"
)

// TestTakenBeginTimes: a begin time that a daemon took for a user's is excused only where the other daemon
// alone set it, for this job, by a clock that differs by more than can be told.
func TestTakenBeginTimes(t *testing.T) {
	const years = 87600 * time.Hour
	at := time.Date(2036, 1, 3, 2, 6, 58, 0, time.UTC)
	first, second := stamp{offset: years}, stamp{second: true}
	for _, c := range []struct {
		name  string
		set   []stamp
		until time.Time
		begin time.Time
		by    stamp
		taken bool
	}{
		{"the second takes the first's", []stamp{first}, at, at, second, true},
		{"the first takes the second's", []stamp{second}, at, at, first, true},
		{"rounded up by Slurm", []stamp{first}, at.Add(-time.Second / 2), at, second, true},
		{"its own, before it was killed", []stamp{first}, at, at, stamp{}, false},
		{"both set it", []stamp{first, second}, at, at, second, false},
		{"by a clock that differs by as much as can be told", []stamp{{offset: tellable}}, at, at, second, false},
		{"by a clock that differs by more", []stamp{{offset: -tellable - 1}}, at, at, second, true},
		{"none set it", nil, at, at, second, false},
		{"another one", []stamp{first}, at, at.Add(time.Second), second, false},
		{"none", []stamp{first}, at, time.Time{}, second, false},
	} {
		var ds dates
		for _, by := range c.set {
			ds.deferred(3, c.until, by)
		}
		ds.wrote(3, c.begin, c.by)
		if got := ds.taken[date{3, at.Unix()}]; got != c.taken {
			t.Errorf("%s: taken %t, want %t", c.name, got, c.taken)
		}
		ds.wrote(4, c.begin, c.by)
		if ds.taken[date{4, at.Unix()}] {
			t.Errorf("%s: taken for another job", c.name)
		}
	}
}
