package search_test

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/sweep/search"
	"github.com/sluice-hpc/sluice/elastic/sweep/space"
)

var update = flag.Bool("update", false, "write the golden files")

func problem(t testing.TB, method string, wheres ...string) search.Problem {
	t.Helper()
	s, err := space.Parse([]string{"lr=log:1e-5:1e-1", "depth=int:2:8", "width=logint:16:1024", "opt=choice:sgd,adamw", "m=float:.8:.99 if opt=sgd"}, wheres)
	if err != nil {
		t.Fatal(err)
	}
	return search.Problem{Space: s, Method: method, Max: true, Seed: 7, Levels: 3}
}

// metric is a smooth function with its maximum, 1, at lr=1e-3, depth=5, width=128, opt=sgd, m=.9.
func metric(p space.Point) float64 {
	get := func(name string) float64 { v, _ := p.Get(name); return v.Number }
	loss := math.Pow(math.Log10(get("lr"))+3, 2)/4 + math.Pow(get("depth")-5, 2)/9 + math.Pow(math.Log2(get("width"))-7, 2)/9
	if v, _ := p.Get("opt"); v.Text == "sgd" {
		loss += math.Pow(get("m")-.9, 2) * 20
	} else {
		loss += .3
	}
	return 1 - loss
}

func done(s search.Suggestion) search.Observation {
	o := s.Observation()
	o.State, o.Curve = search.Done, []search.Measure{{Epoch: 1, Value: metric(s.Point)}}
	return o
}

// run asks one suggestion after the other, with lag of them running at any time.
func run(t testing.TB, p search.Problem, n, lag int) []search.Observation {
	t.Helper()
	var history []search.Observation
	for len(history) < n {
		list, err := search.Suggest(p, history, 1)
		if err != nil {
			t.Fatal(err)
		}
		history = append(history, list[0].Observation())
		if k := len(history) - 1 - lag; k >= 0 {
			history[k] = done(search.Suggestion{Trial: k, Point: history[k].Point, Repeat: history[k].Repeat})
			if k%9 == 8 {
				history[k].Curve[0].Value = math.NaN()
			}
		}
	}
	return history
}

// TestGolden: the suggestions of a seed never change, since sweeps that run would change with them.
func TestGolden(t *testing.T) {
	for _, method := range []string{"random", "grid", "sobol", "tpe", "gp"} {
		var b strings.Builder
		for _, o := range run(t, problem(t, method, "depth*width<4096"), 30, 3) {
			fmt.Fprintln(&b, o.Point)
		}
		path := filepath.Join("testdata", method+".golden")
		if *update {
			if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(want) != b.String() {
			t.Errorf("%s suggests\n%s\nwant\n%s", method, b.String(), want)
		}
	}
}

// TestSuggestions: every suggestion lies in the space, none comes twice, the order in which trials
// are listed has no effect, nor whether suggestions are asked for at once or one by one, or asked
// for again by a daemon that was killed before it had recorded them.
func TestSuggestions(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := problem(t, rapid.SampledFrom([]string{"random", "grid", "sobol", "tpe", "gp"}).Draw(r, "method"), "depth*width<4096")
		p.Seed = rapid.Uint64().Draw(r, "seed")
		p.Repeats = rapid.IntRange(0, 3).Draw(r, "repeats")
		history := run(t, p, rapid.IntRange(0, 25).Draw(r, "trials"), rapid.IntRange(0, 4).Draw(r, "running"))
		n := rapid.IntRange(1, 4).Draw(r, "asked")
		list, err := search.Suggest(p, history, n)
		if err != nil {
			r.Fatal(err)
		}
		seen := map[string]bool{}
		for _, o := range history {
			seen[fmt.Sprint(o.Point, o.Repeat)] = true
		}
		for i, s := range list {
			if s.Trial != len(history)+i || !p.Space.Holds(s.Point) || seen[fmt.Sprint(s.Point, s.Repeat)] {
				r.Fatalf("%s: trial %d at %s, repeat %d, after %d trials", p.Method, s.Trial, s.Point, s.Repeat, len(history))
			}
			seen[fmt.Sprint(s.Point, s.Repeat)] = true
		}
		rng := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(r, "order")))
		shuffled := append([]search.Observation(nil), history...)
		rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		kept := rapid.IntRange(0, n).Draw(r, "recorded before the kill")
		for _, s := range list[:kept] {
			shuffled = append(shuffled, s.Observation())
		}
		again, err := search.Suggest(p, shuffled, n-kept)
		if err != nil {
			r.Fatal(err)
		}
		if got, want := fmt.Sprint(again), fmt.Sprint(list[kept:]); got != want {
			r.Fatalf("%s after a kill: %s, want %s", p.Method, got, want)
		}
	})
}

// TestModelsSearch: models find better points than random search, on average over fixed seeds.
func TestModelsSearch(t *testing.T) {
	mean := func(method string) float64 {
		sum := 0.
		for seed := range uint64(6) {
			p := problem(t, method)
			p.Seed = seed
			best := math.Inf(-1)
			for _, o := range run(t, p, 40, 2) {
				best = max(best, metric(o.Point))
			}
			sum += 1 - best
		}
		return sum / 6
	}
	random := mean("random")
	for _, method := range []string{"tpe", "gp"} {
		if got := mean(method); got > random/2 {
			t.Errorf("%s lacks %.4f to the best after 40 trials, random search %.4f", method, got, random)
		}
	}
}

func TestGridEnds(t *testing.T) {
	s, err := space.Parse([]string{"a=int:1:2", "b=choice:x,y"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"grid", "random", "sobol", "tpe", "gp"} {
		list, err := search.Suggest(search.Problem{Space: s, Method: method, Repeats: 2}, nil, 20)
		if !errors.Is(err, search.ErrExhausted) || len(list) != 8 {
			t.Errorf("%s: %d suggestions, %v", method, len(list), err)
		}
	}
}

func TestTriesComeFirst(t *testing.T) {
	p := problem(t, "tpe")
	for _, text := range []string{"lr=1e-3,depth=4", "opt=adamw"} {
		g, err := p.Space.Given(text)
		if err != nil {
			t.Fatal(err)
		}
		p.Tries = append(p.Tries, g)
	}
	list, err := search.Suggest(p, nil, 3)
	if err != nil {
		t.Fatal(err)
	}
	if got := list[0].Point.String(); !strings.HasPrefix(got, "lr=0.001,depth=4,") {
		t.Errorf("first %s", got)
	}
	if v, _ := list[1].Point.Get("opt"); v.Text != "adamw" {
		t.Errorf("second %s", list[1].Point)
	}
}

// TestRepeatsCountAsOnePoint: their metric is the mean of those that did not fail.
func TestRepeatsCountAsOnePoint(t *testing.T) {
	p := problem(t, "random")
	p.Repeats = 3
	list, err := search.Suggest(p, nil, 4)
	if err != nil {
		t.Fatal(err)
	}
	var history []search.Observation
	for i, s := range list {
		o := done(s)
		o.Curve = []search.Measure{{Epoch: 2, Value: float64(i)}, {Epoch: 1, Value: 0}}
		history = append(history, o)
	}
	history[1].Curve[0].Value = math.Inf(1)
	r := search.Results(history)
	if len(r) != 2 || fmt.Sprint(r[0].Trials) != "[0 1 2]" || fmt.Sprint(r[0].Curve) != "[{1 0} {2 1}]" || r[0].State != search.Done {
		t.Errorf("%+v", r)
	}
	if r[1].Curve[1].Value != 3 {
		t.Errorf("%+v", r[1])
	}
	history[0].Curve[0].Value, history[2].Curve[0].Value = 1e308, 1e308 // their sum is no number any more
	if r := search.Results(history); fmt.Sprint(r[0].Curve) != "[{1 0}]" {
		t.Errorf("%+v", r[0])
	}
}

func TestCurves(t *testing.T) {
	curve, finite := search.Curve([]search.Measure{{3, 1}, {1, 5}, {3, 2}, {0, 9}, {-1, 4}})
	if !finite || fmt.Sprint(curve) != "[{0 9} {1 5} {3 2}]" {
		t.Errorf("%v %v", curve, finite)
	}
	curve, finite = search.Curve([]search.Measure{{2, math.NaN()}, {1, 5}})
	if finite || fmt.Sprint(curve) != "[{1 5}]" {
		t.Errorf("%v %v", curve, finite)
	}
}

func TestUnknownMethod(t *testing.T) {
	if _, err := search.Suggest(problem(t, "bayes"), nil, 1); err == nil || !strings.Contains(err.Error(), `"bayes"`) {
		t.Errorf("%v", err)
	}
}
