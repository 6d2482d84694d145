package speed_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// undecided simulates a run whose units take unit seconds, read every period seconds, as hear does.
// It returns, for each line after the first, whether its claim is undecided beside expected.
func undecided(unit, period float64, lines int, claim func(n int) float64, expected float64) (out []bool) {
	var w speed.Witness
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	for n := range lines {
		look := float64(int(float64(n) * unit / period))
		seconds := w.Heard(claim(n), float64(n), at(look*period), at((look+1)*period))
		if n > 0 {
			out = append(out, seconds == claim(n) && w.Undecided(seconds, func() float64 { return expected }))
		}
	}
	return out
}

// A unit takes 40 s and lines are read every 30 s, so that the clock allows anything up to 60 s for
// the first. A claim far from what the job's other sizes lead to expect waits for the next line.
func TestASurprisingClaimWaits(t *testing.T) {
	for name, c := range map[string]struct {
		claimed, expected float64
		want              bool
	}{
		"a tenth of what is expected":               {4, 40, true},
		"a third":                                   {12, 36, true},
		"as expected":                               {40, 40, false},
		"within a factor of two":                    {25, 45, false},
		"nothing is expected":                       {4, 0, false},
		"true, and a tenth of it is expected":       {40, 4, false},
		"true, and ten times as much is expected":   {40, 400, false},
		"true, and less than the middle by as much": {40, 15, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := undecided(40, 30, 2, func(int) float64 { return c.claimed }, c.expected)
			if got[0] != c.want {
				t.Errorf("the claim of %g s, where %g s are expected: undecided is %t, want %t", c.claimed, c.expected, got[0], c.want)
			}
		})
	}
}

// Without an earlier line there is nothing to decide with, and expected is not computed either.
func TestAFirstLineIsNotUndecided(t *testing.T) {
	var w speed.Witness
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w.Heard(4, 0, now, now.Add(30*time.Second))
	if w.Undecided(4, func() float64 { t.Error("expected is computed"); return 40 }) {
		t.Error("the first line of a run is undecided")
	}
}

// However wrong the expectation, a true claim is used after a few looks at the lines.
func TestTrueClaimsAreDecidedSoon(t *testing.T) {
	const looks = 6
	rapid.Check(t, func(t *rapid.T) {
		unit, period := rapid.Float64Range(1, 1000).Draw(t, "unit"), rapid.Float64Range(1, 300).Draw(t, "period")
		wrong := rapid.Float64Range(1e-3, 1e3).Draw(t, "factor by which the expectation is wrong")
		lines := 4 + int(looks*period/unit)
		got := undecided(unit, period, lines, func(int) float64 { return unit }, wrong*unit)
		for n, undecided := range got {
			if undecided && float64(n)*unit >= looks*period {
				t.Fatalf("line %d of %d: %g s a unit are not used after %d looks", n+1, lines, unit, looks)
			}
		}
		if got[len(got)-1] {
			t.Fatalf("the last of %d lines: %g s a unit are not used", lines, unit)
		}
	})
}
