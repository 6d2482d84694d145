package speed

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var paceNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func samplesOf(seconds map[int]float64, times int) (out []Sample) {
	for gpus := 1; gpus <= 16; gpus++ {
		if s, ok := seconds[gpus]; ok {
			for range times {
				out = append(out, Sample{Shape: Shape{GPUs: gpus, Nodes: 1}, Seconds: s, Units: 1, At: paceNow})
			}
		}
	}
	return out
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b)) }

// TestStepsGiveTheForm: one epoch at one size is enough to predict the epoch's time at every
// size whose steps were timed.
func TestStepsGiveTheForm(t *testing.T) {
	steps := samplesOf(map[int]float64{1: 0.4, 2: 0.22, 4: 0.13}, 3)
	c := FitWith(samplesOf(map[int]float64{2: 220}, 1), steps, paceNow)
	for gpus, want := range map[int]float64{1: 400, 2: 220, 4: 130} {
		if got, src := c.Seconds(Shape{GPUs: gpus, Nodes: 1}); !near(got, want) || src != Measured {
			t.Errorf("%d GPUs: %g (%s), want %g", gpus, got, src, want)
		}
	}
	if c.Samples() == 0 {
		t.Error("there is an epoch, and the curve says it has no seconds")
	}
}

// TestStepsAlone: before the first epoch the curve is relative: 1 GPU takes 1.
func TestStepsAlone(t *testing.T) {
	c := FitWith(nil, samplesOf(map[int]float64{1: 0.4, 4: 0.2}, 2), paceNow)
	one, _ := c.Seconds(Shape{GPUs: 1, Nodes: 1})
	four, _ := c.Seconds(Shape{GPUs: 4, Nodes: 1})
	if c.Samples() != 0 || !near(one, 1) || !near(four, 0.5) {
		t.Errorf("%d samples, 1 GPU %g, 4 GPUs %g", c.Samples(), one, four)
	}
	if c.Tried(4) < 1.99 || c.Tried(2) != 0 {
		t.Errorf("tried 4: %g, tried 2: %g", c.Tried(4), c.Tried(2))
	}
}

// TestStepsThatAreNotTheSameWork: with a fixed batch per GPU a step takes as long on 4 GPUs as
// on 1, and an epoch a quarter; then only epochs count.
func TestStepsThatAreNotTheSameWork(t *testing.T) {
	units := samplesOf(map[int]float64{1: 400, 4: 100}, 2)
	c := FitWith(units, samplesOf(map[int]float64{1: 0.4, 2: 0.4, 4: 0.4}, 2), paceNow)
	got, _ := c.Seconds(Shape{GPUs: 2, Nodes: 1})
	want, _ := Fit(units, paceNow).Seconds(Shape{GPUs: 2, Nodes: 1})
	if got != want {
		t.Errorf("2 GPUs %g, want %g as without the steps", got, want)
	}
}

func TestFitWithNothing(t *testing.T) {
	if FitWith(nil, nil, paceNow) != nil || FitWith(nil, []Sample{{}}, paceNow) != nil {
		t.Error("a curve of nothing")
	}
	units := samplesOf(map[int]float64{1: 5}, 1)
	if got, _ := FitWith(units, nil, paceNow).Seconds(Shape{GPUs: 1, Nodes: 1}); got != 5 {
		t.Errorf("%g", got)
	}
}

// TestFitWithIsSane: for any samples every answer is positive and finite, and where units were
// measured they decide.
func TestFitWithIsSane(t *testing.T) {
	draw := func(t *rapid.T, label string) (out []Sample) {
		for range rapid.IntRange(0, 6).Draw(t, label) {
			s := Sample{Shape: Shape{GPUs: rapid.IntRange(-1, 12).Draw(t, "gpus"), Nodes: 1}, Units: 1, At: paceNow}
			s.Seconds = rapid.OneOf(rapid.Float64Range(1e-9, 1e12), rapid.SampledFrom([]float64{0, -1, math.NaN(), math.Inf(1)})).Draw(t, "seconds")
			out = append(out, s)
		}
		return out
	}
	rapid.Check(t, func(t *rapid.T) {
		units, steps := draw(t, "units"), draw(t, "steps")
		c, own := FitWith(units, steps, paceNow), Fit(units, paceNow)
		for gpus := 1; gpus <= 12; gpus++ {
			s := Shape{GPUs: gpus, Nodes: 1}
			got, _ := c.Seconds(s)
			if !(got > 0) || math.IsInf(got, 0) {
				t.Fatalf("%d GPUs: %g", gpus, got)
			}
			// A step that is fast elsewhere may cap what units say, as any sample does.
			if want, src := own.Seconds(s); own != nil && src == Measured && got < want*(1-1e-9) {
				t.Fatalf("%d GPUs: %g, measured %g", gpus, got, want)
			}
		}
	})
}
