package speed_test

import (
	"math"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/speed"
)

func TestScatter(t *testing.T) {
	for name, c := range map[string]struct {
		seconds []float64
		least   float64
		most    float64
	}{
		"alike":                {[]float64{10, 10, 10, 10, 10}, 0, 0},
		"as real units differ": {[]float64{10, 10.1, 9.9, 10.2, 10}, 0, 0},
		"a slow first epoch":   {[]float64{30, 10, 10, 10}, 0, 0},
		"too few to tell":      {[]float64{30, 10, 100}, 0, 0},
		"noise":                {[]float64{10, 13, 8, 14, 7, 11, 9, 6}, 0.2, 0.5},
		"alternating":          {[]float64{40, 2.5, 40, 2.5, 40, 2.5}, 1, 3},
	} {
		var samples []speed.Sample
		for _, s := range c.seconds {
			samples = append(samples, speed.Sample{Shape: speed.Shape{GPUs: 2, Nodes: 1}, Seconds: s, Units: 1})
		}
		got := speed.Fit(samples, time.Time{}).Scatter()
		if !(got >= c.least && got <= c.most) {
			t.Errorf("%s: %.2f, want %.2f to %.2f", name, got, c.least, c.most)
		}
	}
	var unknown *speed.Curve
	if got := unknown.Scatter() + speed.Known(func([]int) float64 { return 1 }).Scatter(); got != 0 || math.IsNaN(got) {
		t.Errorf("what nobody measured scatters by %g", got)
	}
}
