package speed_test

import (
	"math"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// TestTimes: a curve times 3 is 3 times as long in every shape, measured or not, on every type of node, with
// idle GPUs or without; the curve itself stays as it was.
func TestTimes(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	sample := func(kind string, gpus int, seconds float64) speed.Sample {
		return speed.Sample{Shape: speed.Shape{GPUs: gpus, Nodes: 1}, Kind: kind, Seconds: seconds, Units: 1, At: now}
	}
	one := []speed.Sample{sample("a", 1, 10), sample("a", 2, 6)}
	for name, c := range map[string]*speed.Curve{
		"one type": speed.Fit(one, now), "two types": speed.Fit(append(one, sample("b", 1, 20), sample("b", 4, 8)), now),
		"idle": speed.Fit(one, now).Idle(speed.Shape{GPUs: 2, Nodes: 1}, 0.6),
	} {
		long := c.Times(1.5).Times(2)
		for _, kind := range []string{"a", "b", "other"} {
			for gpus := 1; gpus <= 16; gpus++ {
				for nodes := 1; nodes <= min(gpus, 2); nodes++ {
					shape := speed.Shape{GPUs: gpus, Nodes: nodes}
					x, from := c.On(kind).Hoped(shape)
					y, of := long.On(kind).Hoped(shape)
					if math.Abs(y-3*x) > 1e-9*x || from != of {
						t.Errorf("%s on %s, %v: %v %s and %v %s", name, kind, shape, x, from, y, of)
					}
				}
			}
		}
		if first, again := long.On("a"), long.On("a"); first != again {
			t.Errorf("%s: a curve that caches its answers is made again for each question", name)
		}
		if long.Samples() != c.Samples() {
			t.Errorf("%s: %d and %d samples", name, c.Samples(), long.Samples())
		}
	}
	var none *speed.Curve
	if none.Times(2) != nil {
		t.Error("no curve became one")
	}
	if c := speed.Fit(one, now); c.Times(0) != c || c.Times(math.NaN()) != c || c.Times(1) != c {
		t.Error("a factor that is none makes another curve")
	}
}
