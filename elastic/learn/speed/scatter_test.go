package speed_test

import (
	"math"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/learn/speed"
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
		t.Errorf("without samples the scatter is %g", got)
	}
}

// TestDoubt: what was measured repeatedly is certain; what is far from it, or differs each
// time, is not; a Known curve has no doubt.
func TestDoubt(t *testing.T) {
	steady := speed.Fit([]speed.Sample{at(1, 1, 100), at(2, 1, 55)}, now)
	if d := steady.Doubt(speed.Shape{GPUs: 2, Nodes: 1}); d != 0 {
		t.Errorf("%v of what was measured", d)
	}
	near, far := steady.Doubt(speed.Shape{GPUs: 3, Nodes: 1}), steady.Doubt(speed.Shape{GPUs: 16, Nodes: 1})
	if near <= 0 || far <= near || far > 0.2 {
		t.Errorf("near %v, far %v", near, far)
	}
	var wild []speed.Sample
	for i := range 20 {
		wild = append(wild, at(1, 1, 100+60*float64(i%3)))
	}
	if d := speed.Fit(wild, now).Doubt(speed.Shape{GPUs: 1, Nodes: 1}); d < 0.05 {
		t.Errorf("%v of samples that differ", d)
	}
	var none *speed.Curve
	if none.Doubt(speed.Shape{}) != 0 || speed.Known(func([]int) float64 { return 1 }).Doubt(speed.Shape{GPUs: 9, Nodes: 1}) != 0 {
		t.Error("an oracle doubts")
	}
}
