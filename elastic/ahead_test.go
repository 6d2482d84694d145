package elastic

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestAhead: a time is as far ahead as the seconds say, and never further than a century.
func TestAhead(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	const century = 100 * 365 * 24 * time.Hour
	for _, c := range []struct {
		seconds float64
		want    time.Duration
	}{
		{0, 0}, {1.5, 1500 * time.Millisecond}, {-60, -time.Minute}, {3153600000, century}, {3153599999, century - time.Second},
		{1e10, century}, {1e15, century}, {math.MaxFloat64, century}, {math.Inf(1), century}, {math.NaN(), century},
		{-1e10, -century}, {math.Inf(-1), -century},
	} {
		if got := Ahead(now, c.seconds); !got.Equal(now.Add(c.want)) {
			t.Errorf("%g s: %v, want %v", c.seconds, got, now.Add(c.want))
		}
	}
}

// TestAheadKeepsTheOrder: what takes longer does not end earlier.
func TestAheadKeepsTheOrder(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float64().Draw(t, "a"), rapid.Float64().Draw(t, "b")
		if a < b && Ahead(now, a).After(Ahead(now, b)) {
			t.Fatalf("%g s end after %g s", a, b)
		}
	})
}
