package knapsack_test

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/solve/knapsack"
)

type options = []knapsack.Option

func TestExpand(t *testing.T) {
	for _, c := range []struct {
		name     string
		classes  []options
		capacity int
		choice   []int
		value    float64
	}{
		{"nothing to choose", nil, 5, nil, 0},
		{"no room", []options{{{1, 5}}}, 0, []int{-1}, 0},
		{"one of each class", []options{{{1, 3}, {2, 4}}, {{1, 5}, {2, 6}}}, 3, []int{1, 0}, 9},
		{"negative values stay out", []options{{{1, -3}}, {{1, 0}}}, 9, []int{-1, -1}, 0},
		{"not monotone", []options{{{1, 5}, {2, 2}, {4, 7}}}, 3, []int{0}, 5},
		{"fewest classes among equals", []options{{{1, 2}}, {{1, 2}}, {{2, 4}}}, 2, []int{-1, -1, 0}, 4},
		{"earlier class among equals", []options{{{2, 4}}, {{2, 4}}}, 3, []int{0, -1}, 4},
		{"option listed first among equals", []options{{{2, 4}, {1, 4}}}, 3, []int{0}, 4},
		{"bad options are never taken", []options{{{-1, 9}, {1, math.NaN()}, {1, math.Inf(1)}, {1, 1}, {math.MaxInt, 9}}}, 3, []int{3}, 1},
	} {
		var s knapsack.Solver
		choice, value := s.Expand(c.classes, c.capacity)
		if !reflect.DeepEqual(choice, c.choice) || value != c.value {
			t.Errorf("%s: got %v %v, want %v %v", c.name, choice, value, c.choice, c.value)
		}
	}
}

func TestReduce(t *testing.T) {
	for _, c := range []struct {
		name    string
		classes []options
		need    int
		choice  []int
		weight  int
		cost    float64
		ok      bool
	}{
		{"nothing needed", []options{{{1, 5}}}, 0, []int{-1}, 0, 0, true},
		{"a gain needs no need", []options{{{0, -5}}}, 0, []int{0}, 0, -5, true},
		{"exact", []options{{{1, 3}, {2, 9}}, {{1, 5}, {3, 6}}}, 2, []int{0, 0}, 2, 8, true},
		{"exact though dearer", []options{{{2, 9}}, {{3, 1}}}, 2, []int{0, -1}, 2, 9, true},
		{"least overshoot", []options{{{4, 1}}, {{3, 9}}}, 2, []int{-1, 0}, 3, 9, true},
		{"overshoot by steps", []options{{{2, 1}, {4, 2}}, {{4, 1}}}, 5, []int{0, 0}, 6, 2, true},
		{"out of reach", []options{{{2, 1}, {4, 2}}, {{4, 1}}}, 9, nil, 0, 0, false},
		{"bad options are never taken", []options{{{math.MaxInt, 1}, {-1, 0}, {2, math.Inf(-1)}, {2, 9}}}, 2, []int{3}, 2, 9, true},
		{"fewest classes among equals", []options{{{1, 2}}, {{1, 2}}, {{2, 4}}}, 2, []int{-1, -1, 0}, 2, 4, true},
		{"earlier class among equals", []options{{{2, 4}}, {{2, 4}}}, 2, []int{0, -1}, 2, 4, true},
	} {
		var s knapsack.Solver
		choice, weight, cost, ok := s.Reduce(c.classes, c.need)
		if !reflect.DeepEqual(choice, c.choice) || weight != c.weight || cost != c.cost || ok != c.ok {
			t.Errorf("%s: got %v %d %v %v", c.name, choice, weight, cost, ok)
		}
	}
}

// problems draws small problems with integer values, so that equal totals are equal in floating
// point too.
func problems(t *rapid.T) []options {
	option := rapid.Custom(func(t *rapid.T) knapsack.Option {
		return knapsack.Option{
			Weight: rapid.IntRange(0, 6).Draw(t, "weight"),
			Value:  float64(rapid.IntRange(-5, 9).Draw(t, "value")),
		}
	})
	return rapid.SliceOfN(rapid.SliceOfN(option, 0, 4), 0, 5).Draw(t, "classes")
}

// outcome is one complete choice of the brute force.
type outcome struct {
	choice []int
	weight int
	value  float64
	taken  int
}

// each calls visit for every choice, in the order in which ties are decided: the last class
// counts most, none comes before the first option.
func each(classes []options, visit func(outcome)) {
	choice := make([]int, len(classes))
	var walk func(class int, o outcome)
	walk = func(class int, o outcome) {
		if class < 0 {
			o.choice = append([]int{}, choice...)
			visit(o)
			return
		}
		for i := -1; i < len(classes[class]); i++ {
			choice[class] = i
			next := o
			if i >= 0 {
				next.weight += classes[class][i].Weight
				next.value += classes[class][i].Value
				next.taken++
			}
			walk(class-1, next)
		}
	}
	walk(len(classes)-1, outcome{})
}

func TestExpandIsBruteForce(t *testing.T) {
	var s knapsack.Solver // one workspace for all, so that stale data would show
	reducing := knapsack.Reducing()
	rapid.Check(t, func(t *rapid.T) {
		classes, capacity := problems(t), rapid.IntRange(0, 20).Draw(t, "capacity")
		var best *outcome
		each(classes, func(o outcome) {
			if o.weight > capacity {
				return
			}
			if best == nil || o.value > best.value || (o.value == best.value && o.taken < best.taken) {
				best = &o
			}
		})
		for _, s := range []*knapsack.Solver{&s, reducing} {
			choice, value := s.Expand(classes, capacity)
			if value != best.value || !slices.Equal(choice, best.choice) || s.Bound() != value {
				t.Fatalf("got %v %v, want %v %v", choice, value, best.choice, best.value)
			}
		}
	})
}

func TestReduceIsBruteForce(t *testing.T) {
	var s knapsack.Solver
	rapid.Check(t, func(t *rapid.T) {
		classes, need := problems(t), rapid.IntRange(0, 25).Draw(t, "need")
		var best *outcome
		each(classes, func(o outcome) {
			switch {
			case o.weight < need:
			case best == nil, o.weight < best.weight,
				o.weight == best.weight && o.value < best.value,
				o.weight == best.weight && o.value == best.value && o.taken < best.taken:
				best = &o
			}
		})
		choice, weight, cost, ok := s.Reduce(classes, need)
		if ok != (best != nil) {
			t.Fatalf("ok %v, brute force %v", ok, best)
		}
		if ok && (weight != best.weight || cost != best.value || s.Bound() != cost || !slices.Equal(choice, best.choice)) {
			t.Fatalf("got %v %d %v, want %+v", choice, weight, cost, *best)
		}
	})
}

// Reduced to what an optimal choice can contain, a problem keeps its answer, including ties:
// values are integers.
func TestExpandReducedIsExpand(t *testing.T) {
	reducing := knapsack.Reducing()
	for name, kind := range kinds {
		r := &draw{3}
		for range 40 {
			classes := make([]options, 1+r.n(60))
			for i := range classes {
				classes[i] = kind(r, nil)
				for k := range classes[i] {
					classes[i][k].Value = math.Round(classes[i][k].Value)
				}
			}
			capacity := r.n(400)
			var s knapsack.Solver
			choice, value := s.Expand(classes, capacity)
			if got, sum := reducing.Expand(classes, capacity); sum != value || !slices.Equal(got, choice) || reducing.Bound() != value {
				t.Fatalf("%s: got %v %v, want %v %v", name, got, sum, choice, value)
			}
		}
	}
}

// Larger than any table: equal jobs, so that no option can be fixed.
func TestExpandWithoutTable(t *testing.T) {
	classes := problem(kinds["equal"], 20_000)
	var s knapsack.Solver
	choice, value := s.Expand(classes, 50_000)
	weight := 0
	for i, o := range choice {
		if o != knapsack.None {
			weight += classes[i][o].Weight
		}
	}
	// 3 GPUs are worth 3 to 16,666 jobs, and 2 GPUs are left.
	if weight > 50_000 || value != 3*16_666 || s.Bound() != value {
		t.Errorf("%d GPUs, worth %v of %v", weight, value, s.Bound())
	}
}

// If the budget is too small the bound shows it.
func TestBoundWithoutBudget(t *testing.T) {
	classes := problem(scattered, 200)
	s, unproven := knapsack.Solver{Budget: 1}, 0
	for capacity := 1000; capacity < 1100; capacity++ {
		a := s.Choose(classes, capacity)
		if a.Gap > 0 {
			unproven++
		}
		if !a.OK || s.Bound() != a.Bound || a.Work > 1 {
			t.Errorf("got %+v", a)
		}
	}
	if unproven == 0 {
		t.Error("all proven without a search")
	}
}

func TestSolverReusesItsMemory(t *testing.T) {
	measured, hard := problem(open, 200), problem(kinds["correlated"], 200)
	var built knapsack.Classes
	reducing := knapsack.Reducing()
	var s knapsack.Solver
	round := func() {
		s.Expand(measured, 640)
		s.Reduce(measured, 64)
		s.Choose(measured, 640)
		s.Choose(hard, 1001)
		reducing.Expand(measured, 640)
		built.Reset()
		for _, own := range measured {
			for _, o := range own {
				built.Add(o.Weight, o.Value)
			}
			built.End()
		}
		s.Choose(built.All(), 640)
	}
	round()
	if n := testing.AllocsPerRun(20, round); n > 0 {
		t.Errorf("%v allocations a round", n)
	}
}

func TestClasses(t *testing.T) {
	var c knapsack.Classes
	if len(c.All()) != 0 {
		t.Error("not empty")
	}
	for range 2 {
		c.Reset()
		c.Add(1, 2)
		c.Add(3, 4)
		c.End()
		c.End()
		c.Add(5, 6)
		c.End()
		if got := c.All(); !reflect.DeepEqual(got, []options{{{1, 2}, {3, 4}}, {}, {{5, 6}}}) {
			t.Errorf("got %v", got)
		}
	}
}
