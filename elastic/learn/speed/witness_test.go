package speed_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// hear simulates a run whose units take unit seconds, read every period seconds: each line is
// written when a unit ends, and read at the next look. claim is what the n-th line claims. It
// returns the accepted seconds of each.
func hear(unit, period float64, lines int, claim func(n int) (seconds, done float64)) (used []float64) {
	var w speed.Witness
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	for n := range lines {
		written := float64(n) * unit
		look := float64(int(written / period))
		seconds, done := claim(n)
		used = append(used, w.Heard(seconds, done, at(look*period), at((look+1)*period)))
	}
	return used
}

// For any length of units and however rarely the lines are read, a true claim is accepted.
func TestTrueClaimsAreAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit, period := rapid.Float64Range(0.1, 1e4).Draw(t, "unit"), rapid.Float64Range(0.5, 500).Draw(t, "period")
		for n, got := range hear(unit, period, 60, func(n int) (float64, float64) { return unit, float64(n) }) {
			if got != unit {
				t.Fatalf("line %d: %g seconds a unit, as it is, are taken for %g", n, unit, got)
			}
		}
	})
}

// A false claim is either ignored or corrected once there was time to decide: units take 60 s
// and are read every 30 s.
func TestFalseClaimsAreCorrected(t *testing.T) {
	const unit, lines = 60.0, 60
	for name, c := range map[string]struct {
		claim func(n int) (seconds, done float64)
		want  float64
	}{
		"five times too fast": {func(n int) (float64, float64) { return unit / 5, float64(n) }, unit},
		"five times too slow": {func(n int) (float64, float64) { return unit * 5, float64(n) }, unit},
		"alternating": {func(n int) (float64, float64) {
			return []float64{unit / 4, unit * 4}[n%2], float64(n)
		}, unit},
		// A tenth of what is left is claimed to be left: so a tenth of a unit is done in 60 s.
		"little left, it says": {func(n int) (float64, float64) { return unit, 90 + 0.1*float64(n) }, 10 * unit},
		"a leap at the start":  {func(n int) (float64, float64) { return unit, []float64{0, 90}[min(n, 1)] + float64(n) }, unit},
		"a leap half way":      {func(n int) (float64, float64) { return unit, 500*float64(n/30) + float64(n) }, unit},
	} {
		t.Run(name, func(t *testing.T) {
			right := 0
			for n, got := range hear(unit, 30, lines, c.claim) {
				if n < 2 || got == 0 {
					continue // nothing to compare it with yet
				}
				if got < c.want/1.4 || got > c.want*1.4 {
					t.Errorf("line %d: %g seconds a unit, want about %g", n, got, c.want)
				}
				right++
			}
			if right < lines/2 {
				t.Errorf("only %d of %d lines say anything", right, lines)
			}
		})
	}
}

// A job without progress is slow, whatever it claims.
func TestNoProgressIsSlow(t *testing.T) {
	got := hear(60, 30, 40, func(int) (float64, float64) { return 60, 99 })
	if last := got[len(got)-1]; last < 1e4 {
		t.Errorf("%g seconds a unit are accepted for work without progress", last)
	}
}

// When lines were not read for long, or the clock was set, no claim is rejected.
func TestNoClaimIsRejectedAfterAGap(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, at := range map[string]time.Duration{"lines were not read": 3 * time.Hour, "the clock was set back": -3 * time.Hour, "ten years on": 87600 * time.Hour} {
		var w speed.Witness
		w.Heard(60, 0, start, start)
		w.Heard(60, 1, start.Add(time.Minute), start.Add(time.Minute))
		if got := w.Heard(60, 2, start.Add(time.Minute), start.Add(at)); got != 60 {
			t.Errorf("%s: 60 is taken for %g", name, got)
		}
		if got := w.Heard(60, 3, start.Add(at), start.Add(at+time.Minute)); got != 60 {
			t.Errorf("%s, and the next line: 60 is taken for %g", name, got)
		}
	}
}
