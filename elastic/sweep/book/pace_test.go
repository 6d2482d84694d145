package book

import (
	"testing"
	"time"
)

// TestPace: by the times of reports within each start; the time between two starts is not a trial's own.
func TestPace(t *testing.T) {
	begun := time.UnixMilli(1_000_000)
	mark := func(start int, epoch float64, seconds int64) Mark {
		return Mark{Epoch: epoch, Start: start, At: begun.UnixMilli() + 1000*seconds}
	}
	unknown := mark(1, 2, 0)
	unknown.At = 0
	for name, c := range map[string]struct {
		curve []Mark
		begun time.Time
		want  float64
	}{
		"nothing":             {nil, begun, 0},
		"one report":          {[]Mark{mark(1, 1, 30)}, begun, 30},
		"no begin":            {[]Mark{mark(1, 1, 30)}, time.Time{}, 0},
		"reports":             {[]Mark{mark(1, 1, 30), mark(1, 3, 50)}, begun, 50. / 3},
		"a gap of two starts": {[]Mark{mark(1, 2, 20), mark(2, 3, 5000), mark(2, 5, 5030)}, begun, 50. / 4},
		"first known later":   {[]Mark{mark(2, 3, 5000)}, begun, 0},
		"times unknown":       {[]Mark{unknown, mark(1, 3, 60)}, begun, 0},
		"a clock set back":    {[]Mark{mark(1, 1, 30), mark(1, 2, 10), mark(1, 3, 40)}, begun, 30},
	} {
		if got := (&Trial{Curve: c.curve, Begun: c.begun}).Pace(); got != c.want {
			t.Errorf("%s: %g, want %g", name, got, c.want)
		}
	}
}
