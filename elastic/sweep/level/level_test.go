package level_test

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/sweep/level"
)

// spread is n results, whose best five are gap apart, and the others far below.
func spread(n int, gap float64) []float64 {
	var list []float64
	for i := range n {
		v := 50 + float64(i%7)
		if i < 5 {
			v = 90 - gap*float64(i)
		}
		list = append(list, v)
	}
	return list
}

func TestLevelRisesWhenTheBestLieClose(t *testing.T) {
	r := level.Rule{After: 2, Best: 5, Thresholds: []float64{.1, .01}, Recent: 3, About: .05, Highest: 3}
	close := r.Done(level.State{}, spread(10, .01), true)
	if close.Level != 0 {
		t.Errorf("level %d after k*m trials, want more than that", close.Level)
	}
	close = r.Done(level.State{}, spread(11, .01), true)
	if close.Level != 1 || close.Step != 1 || math.Abs(close.Gap-.01) > 1e-9 {
		t.Errorf("%+v after the gap was below the threshold", close)
	}
	far := r.Done(level.State{}, spread(11, 6), true)
	if far.Level != 0 || len(far.Recent) != 1 {
		t.Errorf("%+v", far)
	}
	for range 3 {
		far = r.Done(far, spread(11, 6), true)
	}
	if far.Level != 1 {
		t.Errorf("%+v: a gap about its recent mean raises the level", far)
	}
	idle := r.Idle(close)
	if idle.Level != 0 || idle.Step != 1 {
		t.Errorf("%+v after GPUs idled", idle)
	}
	for range 20 {
		close = r.Done(close, spread(11, 0), true)
	}
	if close.Level != r.Highest {
		t.Errorf("level %d, want at most %d", close.Level, r.Highest)
	}
	losses := spread(11, .01)
	for i := range losses {
		losses[i] = -losses[i]
	}
	if s := r.Done(level.State{}, losses, false); s.Level != 1 {
		t.Errorf("%+v with losses", s)
	}
}

func TestBids(t *testing.T) {
	young := level.Bid(level.Progress{Trials: 1, Seconds: 100})
	old := level.Bid(level.Progress{Trials: 50, Seconds: 5000})
	dear := level.Bid(level.Progress{Trials: 1, Seconds: 1000})
	if young <= old || math.Abs(young/dear-10) > 1e-9 {
		t.Errorf("young %g, old %g, dear %g", young, old, dear)
	}
	if a, b := level.Bid(level.Progress{Assumed: 50}), level.Bid(level.Progress{}); a <= 0 || b <= 0 || math.IsInf(b, 0) {
		t.Errorf("%g %g", a, b)
	}
	if got := level.Improvement([]float64{1, 5, 3, 4.6}, true); math.Abs(got-.1) > 1e-9 {
		t.Errorf("%g", got)
	}
	if got := level.Improvement([]float64{4, 1, 3}, false); math.Abs(got-2./3) > 1e-9 {
		t.Errorf("%g", got)
	}
}

func TestDivide(t *testing.T) {
	for _, c := range []struct {
		name   string
		rules  level.Rules
		sweeps []level.Standing
		gpus   int
		want   string
	}{
		{"equal weights", level.Rules{}, []level.Standing{{Want: 9}, {Want: 9}, {Want: 9}}, 7, "[3 2 2]"},
		{"what one does not want goes on", level.Rules{}, []level.Standing{{Want: 1}, {Want: 9}}, 7, "[1 6]"},
		{"levels halve", level.Rules{ByLevel: true}, []level.Standing{{Want: 9}, {Want: 9, Level: 1}}, 9, "[6 3]"},
		{"strict", level.Rules{Strict: true, ByBid: 1}, []level.Standing{{Want: 9, Bid: 1}, {Want: 5, Bid: 2}}, 9, "[4 5]"},
		{"first lanes", level.DefaultRules(), []level.Standing{{Want: 9, Bid: 1}, {Want: 9, Bid: 2}, {Want: 9}}, 6, "[1 4 1]"},
		{"a first lane is kept before others start", level.DefaultRules(), []level.Standing{{Want: 9}, {Want: 9, Lanes: 1}}, 1, "[0 1]"},
		{"a converged sweep lets rounds pass", level.DefaultRules(), []level.Standing{{Want: 9, Bid: 1, Lanes: 1, Passes: true}, {Want: 9, Bid: 2}}, 4, "[0 4]"},
		{"a bid 1.4 times as high moves no lane", level.DefaultRules(), []level.Standing{{Want: 9, Bid: 1, Lanes: 4}, {Want: 9, Bid: 1.4}}, 5, "[4 1]"},
		{"a bid 1.6 times as high does", level.DefaultRules(), []level.Standing{{Want: 9, Bid: 1, Lanes: 4}, {Want: 9, Bid: 1.6}}, 5, "[1 4]"},
		{"no bid", level.DefaultRules(), []level.Standing{{Want: 3}, {Want: 3, Bid: math.NaN()}}, 6, "[3 3]"},
		{"no GPU", level.DefaultRules(), []level.Standing{{Want: 3}}, -1, "[0]"},
	} {
		if got := fmt.Sprint(level.Divide(c.rules, c.sweeps, c.gpus)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestDivision: nothing beyond what is wanted, no GPU left while one is wanted, a first lane for
// each sweep that can have one, and a division that was carried out is not changed again.
func TestDivision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := level.Rules{
			FirstLane: rapid.Bool().Draw(t, "first"), ByLevel: rapid.Bool().Draw(t, "level"), ByBid: rapid.SampledFrom([]float64{0, .5, 1}).Draw(t, "bid"),
			Strict: rapid.Bool().Draw(t, "strict"), Margin: rapid.SampledFrom([]float64{0, 1, 1.5}).Draw(t, "margin"),
		}
		var list []level.Standing
		wanted := 0
		for range rapid.IntRange(0, 12).Draw(t, "sweeps") {
			s := level.Standing{Want: rapid.IntRange(0, 8).Draw(t, "want"), Level: rapid.IntRange(0, 3).Draw(t, "level"), Bid: rapid.Float64Range(0, 1).Draw(t, "bid")}
			list = append(list, s)
			wanted += s.Want
		}
		gpus := rapid.IntRange(0, 40).Draw(t, "gpus")
		lanes := level.Divide(r, list, gpus)
		sum, without := 0, 0
		for i, n := range lanes {
			if n < 0 || n > list[i].Want {
				t.Fatalf("%d lanes, wanted %d", n, list[i].Want)
			}
			sum += n
			if n == 0 && list[i].Want > 0 {
				without++
			}
			list[i].Lanes = n
		}
		if sum != min(gpus, wanted) {
			t.Fatalf("%d lanes of %d GPUs, wanted %d", sum, gpus, wanted)
		}
		if r.FirstLane && without > 0 && sum > len(lanes)-without {
			for _, n := range lanes {
				if n > 1 {
					t.Fatalf("%v: a sweep has several lanes, another none", lanes)
				}
			}
		}
		if again := level.Divide(r, list, gpus); fmt.Sprint(again) != fmt.Sprint(lanes) {
			t.Fatalf("%v became %v", lanes, again)
		}
	})
}
