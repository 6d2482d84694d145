package track

import (
	"math"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// TestLevels: of two trials, one three times as long as the other, the curve is that of the first in all sizes
// that any of them had, and each has its own times.
func TestLevels(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	var samples []speed.Sample
	report := func(l *levelled, gpus int, seconds float64) {
		s := speed.Sample{Shape: speed.Shape{GPUs: gpus, Nodes: 1}, Seconds: seconds, Units: 1, At: now}
		if s, ok := l.takeOut(s, speed.Fit(samples, now)); ok {
			samples = append(samples, s)
		}
	}
	var short, long, first levelled
	report(&short, 1, 10)
	report(&first, 2, 20) // it has begun with two, and nothing says yet that it takes four times as long
	if first.level != 0 || len(samples) != 1 {
		t.Errorf("level %v, %v", first.level, samples)
	}
	for range 3 {
		report(&short, 1, 10)
		report(&long, 1, 30)
	}
	for range 3 {
		report(&long, 4, 9) // the first to have four
	}
	curve := speed.Fit(samples, now)
	for gpus, want := range map[int]float64{1: 10, 4: 3} {
		for l, times := range map[*levelled]float64{&short: 1, &long: 3} {
			l.renew(curve)
			got, _ := l.curve.Seconds(speed.Shape{GPUs: gpus, Nodes: 1})
			if math.Abs(got/(want*times)-1) > levelGrain {
				t.Errorf("%d GPUs at level %v: %v s, want %v", gpus, l.level, got, want*times)
			}
		}
	}
	had := long.curve
	if long.renew(curve); long.curve != had {
		t.Error("a curve that did not change is made again")
	}
	if report(&long, 4, 9.1); long.level < 2.9 || long.level > 3.1 {
		t.Errorf("level %v", long.level)
	}
}
