package costate_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/solve/costate"
)

// power returns the hull of work/n^p, sampled finely so that it is nearly smooth.
func power(work, p, capacity float64) costate.Hull {
	points := []costate.Point{{}}
	for i := 1; i <= 400; i++ {
		n := capacity * float64(i) / 400
		points = append(points, costate.Point{GPUs: n, Rate: math.Pow(n, p) / work})
	}
	return costate.NewHull(points, nil)
}

// TestOneJobAlone: the last job's co-state is the time it needs alone.
func TestOneJobAlone(t *testing.T) {
	var s costate.Solver
	h := costate.NewHull([]costate.Point{{1, 1.0 / 100}, {4, 1.0 / 40}}, nil)
	if got := s.Values([]costate.Hull{h}, 4)[0]; math.Abs(got-40) > 1e-9 {
		t.Errorf("got %v, want 40", got)
	}
	if got := s.Values([]costate.Hull{h}, 1)[0]; math.Abs(got-100) > 1e-9 {
		t.Errorf("on its floor: got %v, want 100", got)
	}
}

// TestHeSRPT: for speed-up n^p and known sizes the shares while m jobs are left are those of
// heSRPT (Berg et al. 2020, theorem 7): the i-th of m jobs, largest first, gets (i/m)^(1/(1-p))
// - ((i-1)/m)^(1/(1-p)) of the GPUs.
func TestHeSRPT(t *testing.T) {
	const capacity, p = 64.0, 0.5
	work := []float64{300, 500, 800, 1300} // in order of completion
	jobs := make([]costate.Hull, len(work))
	for i, w := range work {
		jobs[i] = power(w, p, capacity)
	}
	var s costate.Solver
	m := s.Values(jobs, capacity)
	// Shares that maximise sum m*n^p/w: proportional to (m/w)^(1/(1-p)).
	total := 0.0
	share := make([]float64, len(work))
	for i := range work {
		share[i] = math.Pow(m[i]/work[i], 1/(1-p))
		total += share[i]
	}
	for i := range work {
		rank := float64(len(work) - i) // 1 = largest
		k := float64(len(work))
		want := math.Pow(rank/k, 1/(1-p)) - math.Pow((rank-1)/k, 1/(1-p))
		if got := share[i] / total; math.Abs(got-want) > 0.02 {
			t.Errorf("job of work %v: share %.3f, heSRPT %.3f", work[i], got, want)
		}
	}
}

// TestConservation: with all jobs unfinished the best division earns exactly their number per
// second.
func TestConservation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "jobs")
		capacity := float64(rapid.IntRange(n, 40).Draw(t, "capacity"))
		jobs := make([]costate.Hull, n)
		for i := range jobs {
			points := []costate.Point{}
			rate, gpus := 0.0, 0.0
			for range rapid.IntRange(1, 5).Draw(t, "points") {
				gpus += float64(rapid.IntRange(1, 4).Draw(t, "width"))
				if len(points) == 0 {
					gpus = 1
				}
				rate += rapid.Float64Range(0, 0.1).Draw(t, "more") + 1e-6
				points = append(points, costate.Point{GPUs: gpus, Rate: rate})
			}
			jobs[i] = costate.NewHull(points, nil)
		}
		var s costate.Solver
		m := s.Values(jobs, capacity)
		if got := best(jobs, m, capacity); math.Abs(got-float64(n)) > 1e-6*float64(n) {
			t.Fatalf("earns %v a second, want %d (co-states %v)", got, n, m)
		}
	})
}

// best divides the capacity greedily, in the simplest way.
func best(jobs []costate.Hull, m []float64, capacity float64) float64 {
	type seg struct{ slope, width float64 }
	var all []seg
	sum := 0.0
	for i, j := range jobs {
		sum += m[i] * j.Floor.Rate
		capacity -= j.Floor.GPUs
		for _, g := range j.Segments {
			all = append(all, seg{m[i] * g.Slope, g.Width})
		}
	}
	for capacity > 0 {
		top := -1
		for i, g := range all {
			if g.width > 0 && (top < 0 || g.slope > all[top].slope) {
				top = i
			}
		}
		if top < 0 {
			break
		}
		take := min(capacity, all[top].width)
		sum += take * all[top].slope
		capacity -= take
		all[top].width = 0
	}
	return sum
}
