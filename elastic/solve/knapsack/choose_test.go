package knapsack_test

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/solve/knapsack"
)

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		name     string
		classes  []options
		capacity int
		choice   []int // nil: no choice fits
		value    float64
	}{
		{"nothing to choose", nil, 5, []int{}, 0},
		{"nothing to choose and no room", nil, -1, nil, 0},
		{"an empty class", []options{{{1, 3}}, {}}, 5, nil, 0},
		{"the lightest together do not fit", []options{{{2, 3}}, {{2, 1}, {3, 9}}}, 3, nil, 0},
		{"one of each class", []options{{{0, 0}, {1, 3}, {2, 4}}, {{0, 0}, {1, 5}, {2, 6}}}, 3, []int{2, 1}, 9},
		{"exactly one, though it costs", []options{{{1, -3}}, {{1, -5}, {2, -9}}}, 9, []int{0, 0}, -8},
		{"the lightest, to make room", []options{{{1, 1}, {4, 50}}, {{1, 1}, {4, 60}}}, 5, []int{0, 1}, 61},
		{"not monotone", []options{{{1, 5}, {2, 2}, {4, 7}}}, 3, []int{0}, 5},
		{"not concave", []options{{{0, 0}, {1, 1}, {4, 20}}, {{0, 0}, {1, 6}, {4, 7}}}, 4, []int{2, 0}, 20},
		{"lighter among equals", []options{{{2, 4}, {1, 4}}}, 3, []int{1}, 4},
		{"listed first among equals", []options{{{2, 4}, {2, 4}}}, 3, []int{0}, 4},
		{"earlier class among equals", []options{{{0, 0}, {2, 4}}, {{0, 0}, {2, 4}}}, 3, []int{1, 0}, 4},
		{"bad options are never taken", []options{{{-1, 9}, {1, math.NaN()}, {1, math.Inf(1)}, {1, -math.MaxFloat64},
			{math.MaxInt, 7}, {1, 1}}}, math.MaxInt, []int{5}, 1},
		{"unsorted", []options{{{4, 9}, {0, 0}, {2, 8}, {1, 1}}, {{3, 2}, {0, 0}}}, 5, []int{2, 0}, 10},
	} {
		var s knapsack.Solver
		a := s.Choose(c.classes, c.capacity)
		if a.OK != (c.choice != nil) || a.OK && (!slices.Equal(a.Choice, c.choice) || a.Value != c.value || a.Gap != 0 || a.Bound != a.Value) {
			t.Errorf("%s: got %+v, want %v %v", c.name, a, c.choice, c.value)
		}
	}
}

// exhaust is Choose by brute force; NaN if no choice fits.
func exhaust(classes []options, capacity int) float64 {
	best := math.NaN()
	var walk func(i, room int, value float64)
	walk = func(i, room int, value float64) {
		if room < 0 {
			return
		}
		if i == len(classes) {
			if !(value <= best) {
				best = value
			}
			return
		}
		for _, o := range classes[i] {
			walk(i+1, room-o.Weight, value+o.Value)
		}
	}
	walk(0, capacity, 0)
	return best
}

// byTable is Choose by plain dynamic programming.
func byTable(classes []options, capacity int) float64 {
	total := make([]float64, capacity+1)
	for _, own := range classes {
		next := slices.Repeat([]float64{math.Inf(-1)}, capacity+1)
		for _, o := range own {
			for w := o.Weight; w <= capacity; w++ {
				next[w] = max(next[w], total[w-o.Weight]+o.Value)
			}
		}
		total = next
	}
	return total[capacity]
}

// follows checks the properties of every answer.
func follows(t interface{ Fatalf(string, ...any) }, classes []options, capacity int, a knapsack.Answer) {
	weight, value := 0, 0.0
	for i, o := range a.Choice {
		weight, value = weight+classes[i][o].Weight, value+classes[i][o].Value
	}
	if len(a.Choice) != len(classes) || weight > capacity || weight != a.Weight || value != a.Value {
		t.Fatalf("%+v weighs %d, worth %v; capacity %d", a, weight, value, capacity)
	}
	if a.Bound < a.Value || a.Gap != a.Bound-a.Value || a.Price < 0 {
		t.Fatalf("bound %v, gap %v, value %v, price %v", a.Bound, a.Gap, a.Value, a.Price)
	}
}

func same(a, b float64) bool { return math.Abs(a-b) <= 1e-9*(1+math.Abs(a)) }

func TestChooseIsBruteForce(t *testing.T) {
	var s knapsack.Solver // one workspace for all, so that stale data would show
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Map(rapid.IntRange(-5, 9), func(n int) float64 { return float64(n) })
		if rapid.Bool().Draw(t, "fractions") {
			value = rapid.Float64Range(-5, 9)
		}
		option := rapid.Custom(func(t *rapid.T) knapsack.Option {
			return knapsack.Option{Weight: rapid.IntRange(0, 9).Draw(t, "weight"), Value: value.Draw(t, "value")}
		})
		classes := rapid.SliceOfN(rapid.SliceOfN(option, 1, 5), 0, 6).Draw(t, "classes")
		capacity := rapid.IntRange(0, 40).Draw(t, "capacity")
		s.Budget = rapid.SampledFrom([]int{0, 0, 0, 1, 10, 40}).Draw(t, "budget")
		best, a := exhaust(classes, capacity), s.Choose(classes, capacity)
		if a.OK != !math.IsNaN(best) {
			t.Fatalf("got %+v, want %v", a, best)
		}
		if !a.OK {
			return
		}
		follows(t, classes, capacity, a)
		if s.Budget == 0 && a.Gap != 0 {
			t.Fatalf("not proven: %+v", a)
		}
		if a.Gap == 0 && !same(a.Value, best) || a.Value > best+1e-9 || a.Bound < best-1e-9 {
			t.Fatalf("got %+v, want %v", a, best)
		}
	})
}

// kinds draws the classes of larger problems; each kind is hard in another way.
var kinds = map[string]func(r *draw, own options) options{
	"concave":     func(r *draw, own options) options { return r.speeds(own, 0.3+0.6*r.unit()) },
	"any":         func(r *draw, own options) options { return r.scatter(own, 8, 64) },
	"equal":       func(r *draw, own options) options { return append(own, zero, one(3, 3), one(6, 5)) },
	"equal slope": func(r *draw, own options) options { w := 1 + r.n(9); return append(own, zero, one(w, float64(2*w))) },
	"even":        func(r *draw, own options) options { return append(own, zero, one(2+2*r.n(20), 10*r.unit())) },
	"correlated":  func(r *draw, own options) options { w := 1 + r.n(60); return append(own, zero, one(w, float64(w+10))) },
	"whole nodes": func(r *draw, own options) options { return r.nodes(own) },
}

func TestChooseIsTheTable(t *testing.T) {
	var s knapsack.Solver
	for name, kind := range kinds {
		r := &draw{1}
		for range 60 {
			classes := make([]options, 1+r.n(120))
			least, most := 0, 0
			for i := range classes {
				classes[i] = kind(r, nil)
				least += slices.MinFunc(classes[i], lighter).Weight
				most += slices.MaxFunc(classes[i], lighter).Weight
			}
			capacity := least + r.n(most-least+2)
			want := byTable(classes, capacity)
			s.Budget = 0
			a := s.Choose(classes, capacity)
			follows(t, classes, capacity, a)
			if !a.OK || a.Gap != 0 || !same(a.Value, want) {
				t.Fatalf("%s: got %+v, want %v", name, a, want)
			}
			s.Budget = 1 + r.n(a.Work+1)
			if a = s.Choose(classes, capacity); a.Value > want+1e-9 || a.Bound < want-1e-9 || a.Work > s.Budget {
				t.Fatalf("%s: budget %d, got %+v, want %v", name, s.Budget, a, want)
			}
		}
	}
}

func TestChooseIsDeterministic(t *testing.T) {
	r := &draw{7}
	classes := make([]options, 300)
	for i := range classes {
		classes[i] = r.scatter(nil, 8, 64)
	}
	var s, used knapsack.Solver
	used.Choose(classes[:100], 900)
	used.Expand(classes[:50], 300)
	a, b := s.Choose(classes, 2000), used.Choose(classes, 2000)
	if !reflect.DeepEqual(a, b) {
		t.Errorf("got %+v and %+v", a, b)
	}
}

// Values of the largest size allowed give only finite sums.
func TestChooseSurvivesVastValues(t *testing.T) {
	var classes []options
	for i := range 50 {
		classes = append(classes, options{{0, -1e290}, {1 + i, 1e290}, {math.MaxInt32, 1e290}, {7, 1e-300}})
	}
	var s knapsack.Solver
	for _, capacity := range []int{0, 7, 100, 1e6, math.MaxInt} {
		a := s.Choose(classes, capacity)
		follows(t, classes, capacity, a)
		if math.IsInf(a.Bound, 0) || math.IsNaN(a.Bound) {
			t.Errorf("bound %v", a.Bound)
		}
	}
}
