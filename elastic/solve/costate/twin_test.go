package costate_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/solve/costate"
)

// drawPoints draws sizes with rates that may rise, stall and fall; those of a job that may be
// stopped begin at zero.
func drawPoints(t *rapid.T) []costate.Point {
	var points []costate.Point
	if rapid.IntRange(0, 2).Draw(t, "stopped") == 0 {
		points = append(points, costate.Point{})
	}
	gpus := 0
	for range rapid.IntRange(1, 6).Draw(t, "sizes") {
		gpus += rapid.IntRange(1, 4).Draw(t, "more")
		rate := rapid.SampledFrom([]float64{0, 1e-6, 1e-4, 1e-2, 1}).Draw(t, "scale") * rapid.Float64Range(0.1, 1).Draw(t, "rate")
		points = append(points, costate.Point{GPUs: float64(gpus), Rate: rate})
	}
	return points
}

// TestHullsLieAbove: a hull is concave, reaches every point up to the best, and is nowhere
// above a division of time between two points.
func TestHullsLieAbove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		points := drawPoints(t)
		h := costate.NewHull(points, nil)
		slope := math.Inf(1)
		for _, g := range h.Segments {
			if g.Slope > slope || g.Slope <= 0 || g.Width <= 0 {
				t.Fatalf("not concave: %+v of %v", h, points)
			}
			slope = g.Slope
		}
		for _, p := range points {
			if got := rateAt(h, p.GPUs); got < p.Rate*(1-1e-9) || got > chord(points, p.GPUs)*(1+1e-9)+1e-15 {
				t.Fatalf("at %v GPUs %v: %+v of %v", p.GPUs, got, h, points)
			}
		}
	})
}

// rateAt returns the rate of the hull at this many GPUs.
func rateAt(h costate.Hull, gpus float64) float64 {
	rate, left := h.Floor.Rate, gpus-h.Floor.GPUs
	for _, g := range h.Segments {
		take := min(left, g.Width)
		rate += take * g.Slope
		left -= take
	}
	return rate
}

// chord returns the best rate with at most this many GPUs on average, of one point or of two in
// turn.
func chord(points []costate.Point, gpus float64) float64 {
	best := 0.0
	for i, a := range points {
		if a.GPUs <= gpus {
			best = max(best, a.Rate)
		}
		for _, b := range points[i+1:] {
			if a.GPUs <= gpus && gpus <= b.GPUs {
				best = max(best, a.Rate+(b.Rate-a.Rate)*(gpus-a.GPUs)/(b.GPUs-a.GPUs))
			}
		}
	}
	return best
}

// TestTwin: Values agrees with bisection over simple divisions.
func TestTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s costate.Solver
		for range 2 { // the second in the memory of the first
			jobs := make([]costate.Hull, rapid.IntRange(1, 8).Draw(t, "jobs"))
			capacity := float64(rapid.IntRange(1, 30).Draw(t, "capacity"))
			floors := 0.0
			for i := range jobs {
				jobs[i] = costate.NewHull(drawPoints(t), nil)
				floors += jobs[i].Floor.GPUs
			}
			capacity = max(capacity, floors)
			got, want := s.Values(jobs, capacity), bisected(jobs, capacity)
			for i := range jobs {
				if math.Abs(got[i]-want[i]) > 1e-6*want[i] {
					t.Fatalf("job %d of %+v on %v GPUs: %v, want %v", i, jobs, capacity, got, want)
				}
			}
		}
	})
}

// bisected computes Values from its definition.
func bisected(jobs []costate.Hull, capacity float64) []float64 {
	jobs, out := slices.Clone(jobs), make([]float64, len(jobs))
	alive := 0.0
	for i := len(jobs) - 1; i >= 0; i-- {
		if rateAt(jobs[i], math.Inf(1)) <= 0 {
			jobs[i] = costate.Hull{}
			continue
		}
		alive++
		floors := 0.0
		for _, j := range jobs[i:] {
			floors += j.Floor.GPUs
		}
		if jobs[i].Floor.Rate == 0 && floors >= capacity {
			out[i] = alive / jobs[i].Segments[0].Slope
			continue
		}
		low, high := 0.0, 1e18
		for range 200 {
			out[i] = (low + high) / 2
			if best(jobs[i:], out[i:], capacity) < alive {
				low = out[i]
			} else {
				high = out[i]
			}
		}
	}
	return out
}
