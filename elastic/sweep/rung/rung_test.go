package rung_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/sweep/rung"
	"github.com/sluice-hpc/sluice/elastic/sweep/search"
)

// trial reports values from epoch 1 on.
func trial(n int, state search.State, values ...float64) search.Observation {
	o := search.Observation{Trial: n, State: state}
	for i, v := range values {
		o.Curve = append(o.Curve, search.Measure{Epoch: i + 1, Value: v})
	}
	return o
}

func TestRungs(t *testing.T) {
	for want, r := range map[string]rung.Rule{
		"[2 4 8 16 32]": {Epochs: 52},
		"[4 12 36]":     {Epochs: 52, First: 4, Reduction: 3},
		"[1 4]":         {Epochs: 10, Reduction: 4},
		"[]":            {Epochs: 1},
	} {
		if got := fmt.Sprint(r.Rungs()); got != want {
			t.Errorf("%+v: %s, want %s", r, got, want)
		}
	}
}

var rule = rung.Rule{Epochs: 9, Reduction: 3, First: 1, Max: true}

func TestWorseTrialsArePaused(t *testing.T) {
	history := []search.Observation{
		trial(0, search.Running, 5), trial(1, search.Running, 3), trial(2, search.Running, 4), trial(3, search.Running),
	}
	if got, want := fmt.Sprint(rule.Verdicts(history[:2])), "[{0 false 1 1 2} {1 false 1 2 2}]"; got != want {
		t.Errorf("%s, want %s: with two trials at a rung both go on", got, want)
	}
	if got, want := fmt.Sprint(rule.Verdicts(history)), "[{0 false 1 1 3} {1 true 1 3 3} {2 true 1 2 3} {3 false 0 0 0}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	small := rule
	small.Max = false
	if v := small.Verdicts(history); v[0].Pause != true || v[1].Pause {
		t.Errorf("of losses the smallest goes on: %v", v)
	}
}

// TestOvertaken: a trial that went on is paused when later ones are better, and goes on again
// before new ones when still later ones are worse.
func TestOvertaken(t *testing.T) {
	history := []search.Observation{trial(0, search.Running, 5), trial(1, search.Paused, 1), trial(2, search.Paused, 2), trial(3, search.Running, 6)}
	if v := rule.Verdicts(history); !v[0].Pause || v[1].Pause {
		t.Fatalf("%v", v)
	}
	history[0].State = search.Paused
	if got := rule.Returns(history); len(got) != 0 {
		t.Fatalf("%v go on", got)
	}
	history = append(history, trial(4, search.Paused, 1), trial(5, search.Paused, 1))
	if got := fmt.Sprint(rule.Returns(history)); got != "[0]" {
		t.Errorf("%s go on, want [0]", got)
	}
	if got := fmt.Sprint(rule.Resume(history)); got != "[0 2 1 4 5]" {
		t.Errorf("%s is the order where GPUs idle", got)
	}
}

func TestMissingEpochs(t *testing.T) {
	history := []search.Observation{trial(0, search.Running), trial(1, search.Paused, 1), trial(2, search.Paused, 2)}
	history[0].Curve = []search.Measure{{Epoch: 4, Value: 9}, {Epoch: 2, Value: 0}}
	if v := rule.Verdicts(history)[0]; v.Rung != 3 || v.Rank != 1 || v.Of != 1 {
		t.Errorf("%+v", v)
	}
	history[0].Curve = append(history[0].Curve, search.Measure{Epoch: 5, Value: math.NaN()})
	if v := rule.Verdicts(history)[0]; v.Rung != 3 {
		t.Errorf("%+v", v)
	}
}

// TestVerdictsDependOnCurvesOnly: not on the order of trials or of their reports. Of
// Reduction trials at a rung one goes on, more only if they are equal, and never the worse of two.
func TestVerdictsDependOnCurvesOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rung.Rule{Epochs: 30, Reduction: rapid.IntRange(2, 4).Draw(t, "reduction"), First: rapid.IntRange(1, 4).Draw(t, "first"), Max: rapid.Bool().Draw(t, "max")}
		var history []search.Observation
		for i := range rapid.IntRange(0, 30).Draw(t, "trials") {
			values := rapid.SliceOfN(rapid.Float64Range(-1, 1), 0, 30).Draw(t, "values")
			history = append(history, trial(i, search.Running, values...))
		}
		want := r.Verdicts(history)
		rng := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "order")))
		rng.Shuffle(len(history), func(i, j int) { history[i], history[j] = history[j], history[i] })
		for _, o := range history {
			rng.Shuffle(len(o.Curve), func(i, j int) { o.Curve[i], o.Curve[j] = o.Curve[j], o.Curve[i] })
		}
		if got := r.Verdicts(history); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%v, want %v", got, want)
		}
		worst := map[int]int{}
		for _, v := range want {
			if v.Rung > 0 && !v.Pause {
				worst[v.Rung] = max(worst[v.Rung], v.Rank)
			}
		}
		for _, v := range want {
			if !v.Pause && v.Of >= r.Reduction && v.Rank > v.Of/r.Reduction {
				t.Fatalf("%+v goes on", v)
			}
			if v.Pause && v.Rank <= worst[v.Rung] {
				t.Fatalf("%+v is paused, and a worse one goes on", v)
			}
		}
	})
}

// TestPaceCounts: of trials at one place at a rung the fast one goes on and the slow one does not; the best
// one always does, and without paces nothing changes.
func TestPaceCounts(t *testing.T) {
	var history []search.Observation
	for i := range 10 {
		history = append(history, trial(i, search.Running, float64(10-i)))
	}
	r := rung.Rule{Epochs: 26, First: 1, Max: true}
	on := func(paces map[int]float64) (out string) {
		r.Paces = paces
		for _, v := range r.Verdicts(history) {
			if !v.Pause {
				out += fmt.Sprint(v.Trial)
			}
		}
		return out
	}
	even := map[int]float64{}
	for i := range 10 {
		even[i] = 7
	}
	slow, fast, first := maps.Clone(even), maps.Clone(even), maps.Clone(even)
	slow[4], fast[5], first[0] = 20, 2, 1e9
	for _, c := range []struct {
		paces map[int]float64
		want  string
	}{{nil, "01234"}, {even, "01234"}, {slow, "0123"}, {fast, "012345"}, {first, "01234"}, {map[int]float64{4: 3}, "01234"}, {map[int]float64{1: math.NaN(), 2: -1, 3: math.Inf(1), 4: 0}, "01234"}} {
		if got := on(c.paces); got != c.want {
			t.Errorf("%v: %s go on, want %s", c.paces, got, c.want)
		}
	}
}
