package speed_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

var seenAt = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func measured(seconds map[int]float64) *speed.Curve {
	var samples []speed.Sample
	for gpus, s := range seconds {
		samples = append(samples, speed.Sample{Shape: speed.Shape{GPUs: gpus, Nodes: 1}, Seconds: s, Units: 1, At: seenAt})
	}
	return speed.Fit(samples, seenAt)
}

func on(gpus int) speed.Shape { return speed.Shape{GPUs: gpus, Nodes: 1} }

func TestIdleGPUsAreNotHelpedByMore(t *testing.T) {
	c := measured(map[int]float64{2: 50, 4: 26})
	before, _ := c.Hoped(on(8))
	lazy := c.Idle(on(4), 0.8)
	after, source := lazy.Hoped(on(8))
	if want := 26 * (0.8 + 0.2*4/8); math.Abs(after-want) > 1e-9 || after <= before || source != speed.Fitted {
		t.Errorf("8 GPUs: %v before, %v after (%s), want %v", before, after, source, want)
	}
	if told, _ := lazy.Seconds(on(8)); told < after {
		t.Errorf("expected %v, hoped %v", told, after)
	}
	for _, g := range []int{1, 2, 3, 4} {
		a, _ := c.Hoped(on(g))
		if b, _ := lazy.Hoped(on(g)); a != b {
			t.Errorf("%d GPUs changed from %v to %v", g, a, b)
		}
	}
	if again, _ := c.Hoped(on(8)); again != before {
		t.Error("the curve itself was changed")
	}
}

func TestIdleYieldsToWhatWasMeasured(t *testing.T) {
	c := measured(map[int]float64{2: 50, 4: 26, 8: 13})
	if c.Idle(on(4), 0.9) != c {
		t.Error("what was measured on 8 GPUs says more than idleness on 4")
	}
	if c.Idle(on(8), 0) != c || c.Idle(on(8), math.NaN()) != c || c.Idle(on(8), 1.5) != c {
		t.Error("no idleness, and nonsense, change something")
	}
	known := speed.Known(func([]int) float64 { return 1 })
	if known.Idle(on(2), 0.9) != known {
		t.Error("an oracle is doubted")
	}
}

func TestIdleOfAnUnknownJob(t *testing.T) {
	var none *speed.Curve
	c := none.Idle(on(2), 0.5)
	if c.Samples() != 0 {
		t.Errorf("%d samples", c.Samples())
	}
	two, _ := none.Seconds(on(2))
	if got, source := c.Seconds(on(4)); math.Abs(got-two*0.75) > 1e-9 || source != speed.Prior {
		t.Errorf("%v (%s), want three quarters of %v", got, source, two)
	}
}

// TestIdleOnlyDoubts: idleness never makes an answer faster, never changes it for as few GPUs
// as were observed, and all answers stay positive and finite.
func TestIdleOnlyDoubts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := map[int]float64{}
		for range rapid.IntRange(0, 4).Draw(t, "sizes") {
			seconds[rapid.IntRange(1, 16).Draw(t, "gpus")] = rapid.Float64Range(0.1, 1000).Draw(t, "seconds")
		}
		c := measured(seconds)
		n := rapid.IntRange(1, 16).Draw(t, "seen on")
		lazy := c.Idle(on(n), rapid.Float64Range(0, 1).Draw(t, "share"))
		for g := 1; g <= 32; g++ {
			s := speed.Shape{GPUs: g, Nodes: rapid.IntRange(1, g).Draw(t, "nodes")}
			was, _ := c.Hoped(s)
			is, _ := lazy.Hoped(s)
			if is < was || g <= n && is != was || !(is > 0) || math.IsInf(is, 0) {
				t.Fatalf("%+v: %v, was %v", s, is, was)
			}
		}
	})
}
