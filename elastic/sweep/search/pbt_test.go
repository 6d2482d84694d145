package search_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/sweep/search"
)

// population is pbt's first 8 members after 4 epochs; member i has the metric i.
func population(t *testing.T) (search.Problem, []search.Observation) {
	p := problem(t, "pbt")
	list, err := search.Suggest(p, nil, 9)
	if !errors.Is(err, search.ErrWait) || len(list) != 8 {
		t.Fatalf("%d suggestions, %v", len(list), err)
	}
	var history []search.Observation
	for i, s := range list {
		o := s.Observation()
		for e := 1; e <= 4; e++ {
			o.Curve = append(o.Curve, search.Measure{Epoch: e, Value: float64(i)})
		}
		history = append(history, o)
	}
	return p, history
}

func TestLosersAreReplacedByCopiesOfLeaders(t *testing.T) {
	p, history := population(t)
	if got := fmt.Sprint(search.Losers(p, history)); got != "[{0 4 8 8} {1 4 7 8}]" {
		t.Fatalf("losers %s", got)
	}
	history[0].State, history[1].State = search.Paused, search.Paused
	list, err := search.Suggest(p, history, 3)
	if !errors.Is(err, search.ErrWait) || len(list) != 2 {
		t.Fatalf("%d suggestions, %v", len(list), err)
	}
	for i, s := range list {
		from := s.Origin.From - 1
		if s.Trial != 8+i || s.Origin.Replaces != i+1 || s.Origin.Epoch != 4 || from != 6 && from != 7 || !p.Space.Holds(s.Point) || s.Point.String() == history[from].Point.String() {
			t.Errorf("%+v", s)
		}
	}
	again, _ := search.Suggest(p, append(history, list[0].Observation()), 1)
	if fmt.Sprint(again[0]) != fmt.Sprint(list[1]) {
		t.Errorf("after a kill %v, want %v", again[0], list[1])
	}
}

// TestCopiesHaveAPeriod: a copy is not judged by what its parent had reached.
func TestCopiesHaveAPeriod(t *testing.T) {
	p, history := population(t)
	history[0].State = search.Paused
	list, _ := search.Suggest(p, history, 1)
	o := list[0].Observation()
	o.Curve = []search.Measure{{Epoch: 5, Value: -1}}
	for _, loser := range search.Losers(p, append(history, o)) {
		if loser.Trial == o.Trial {
			t.Error("a copy was stopped after one epoch")
		}
	}
}

func TestEqualMembersGoOn(t *testing.T) {
	p, history := population(t)
	for i := range history {
		for k := range history[i].Curve {
			history[i].Curve[k].Value = 1
		}
	}
	if got := search.Losers(p, history); len(got) > 0 {
		t.Errorf("losers %v", got)
	}
}
