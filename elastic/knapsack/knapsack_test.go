package knapsack_test

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/knapsack"
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
		{"bad options are never taken", []options{{{-1, 9}, {1, math.NaN()}, {1, math.Inf(1)}, {1, 1}}}, 3, []int{3}, 1},
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

// problems draws small problems with whole-numbered values, so that equal totals
// are equal in floating point too.
func problems(t *rapid.T) []options {
	option := rapid.Custom(func(t *rapid.T) knapsack.Option {
		return knapsack.Option{
			Weight: rapid.IntRange(0, 6).Draw(t, "weight"),
			Value:  float64(rapid.IntRange(-5, 9).Draw(t, "value")),
		}
	})
	return rapid.SliceOfN(rapid.SliceOfN(option, 0, 4), 0, 5).Draw(t, "classes")
}

// outcome is one complete choice as brute force sees it.
type outcome struct {
	choice []int
	weight int
	value  float64
	taken  int
}

// each calls visit for every choice, in the order that ties are decided: the
// last class counts most, none before the first option.
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
	var s knapsack.Solver // one workspace for all, so that leftovers would show
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
		choice, value := s.Expand(classes, capacity)
		if value != best.value || !slices.Equal(choice, best.choice) {
			t.Fatalf("got %v %v, want %v %v", choice, value, best.choice, best.value)
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
		if ok && (weight != best.weight || cost != best.value || !slices.Equal(choice, best.choice)) {
			t.Fatalf("got %v %d %v, want %+v", choice, weight, cost, *best)
		}
	})
}

func TestSolverReusesItsMemory(t *testing.T) {
	classes := make([]options, 30)
	for i := range classes {
		for w := 1; w <= 8; w++ {
			classes[i] = append(classes[i], knapsack.Option{Weight: w, Value: math.Sqrt(float64(w * (i + 1)))})
		}
	}
	var s knapsack.Solver
	s.Expand(classes, 64)
	s.Reduce(classes, 64)
	if n := testing.AllocsPerRun(20, func() { s.Expand(classes, 64); s.Reduce(classes, 64) }); n > 0 {
		t.Errorf("%v allocations a run", n)
	}
}

func BenchmarkExpand100x512(b *testing.B) {
	classes := make([]options, 100)
	for i := range classes {
		for w := 1; w <= 64; w++ {
			classes[i] = append(classes[i], knapsack.Option{Weight: w, Value: math.Sqrt(float64(w * (i + 1)))})
		}
	}
	var s knapsack.Solver
	for b.Loop() {
		s.Expand(classes, 512)
	}
}
