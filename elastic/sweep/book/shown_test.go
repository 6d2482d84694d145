package book

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// The best so far is thinned: however many results there are, the last one is the best of the book.
func TestBests(t *testing.T) {
	for _, m := range []sweep.Metric{{Name: "acc", Max: true}, {Name: "loss"}} {
		b, began := New(), time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
		for n := 1; n <= 50; n++ {
			b.Apply(Entry{At: began, Tell: &Telling{Lane: "a", Ask: "x", Trial: n, Start: 1, Point: "x=1"}})
			for e := range 20 {
				value := float64(n*20 + e)
				if !m.Max {
					value = -value
				}
				b.Take("a", sweep.Event{Kind: sweep.Reported, At: began.Add(time.Duration(n*20+e) * time.Second), Trial: n, Start: 1, Epoch: float64(e), Value: value})
			}
		}
		for _, most := range []int{1, 2, 7, 5000} {
			got := b.Bests(sweep.Sweep{Metric: m}, most)
			trial, mark := b.Best(m)
			if last := got[len(got)-1]; len(got) > most || last.Trial != trial.Number || last.Value != mark.Value || most == 5000 && len(got) != 1000 {
				t.Errorf("%s, at most %d: %d, the last %+v", m, most, len(got), last)
			}
			for i := 1; i < len(got); i++ {
				if !m.Better(got[i].Value, got[i-1].Value) || !got[i].At.After(got[i-1].At) {
					t.Fatalf("%s: %v after %v", m, got[i], got[i-1])
				}
			}
		}
		if New().Bests(sweep.Sweep{Metric: m}, 5) != nil || b.Bests(sweep.Sweep{Metric: m}, 0) != nil {
			t.Error("bests of nothing")
		}
	}
}

// The levels over time are bounded, and one that does not change is there once.
func TestRatings(t *testing.T) {
	b := New()
	for i := range 3 * mostRatings {
		e := Entry{Rated: &Rating{Level: i / 2 % 5, Done: i}}
		b.Apply(e)
		b.Apply(e)
	}
	if n := len(b.Ratings); n > mostRatings || b.Level() != b.Ratings[n-1].Level || b.Ratings[n-1].Done < 3*mostRatings-2 {
		t.Error(n, fmt.Sprint(b.Ratings[n-1]))
	}
}

// A sweep is judged by the mean of a point's repeats, and shown by it: one lucky repeat is not its best result.
func TestResult(t *testing.T) {
	s := sweep.Sweep{Metric: sweep.Metric{Name: "acc", Max: true}, Repeats: 2}
	b, at := New(), time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for n, value := range []float64{.95, .6, .88, .9} {
		b.Apply(Entry{At: at, Tell: &Telling{Lane: "a", Ask: "x", Trial: n + 1, Start: 1, Point: fmt.Sprint("x=", n/2), Repeat: n % 2}})
		b.Take("a", sweep.Event{Kind: sweep.Reported, At: at, Trial: n + 1, Start: 1, Epoch: 1, Value: value})
	}
	if got := b.Result(s); got == nil || got.Trial != 4 || got.Value != .89 || !got.At.Equal(at) {
		t.Errorf("%+v", got)
	}
	if s.Repeats = 0; New().Result(s) != nil {
		t.Error("a result of nothing")
	}
}

// With repeats the best over time is that of means, as Result has it: what one lucky repeat reported is nowhere in it.
func TestBestsOfRepeats(t *testing.T) {
	s := sweep.Sweep{Metric: sweep.Metric{Name: "acc", Max: true}, Repeats: 2}
	b, at := New(), time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	reports := func(minute, trial int, epoch, value float64) {
		if b.Trial(trial) == nil {
			b.Apply(Entry{At: at, Tell: &Telling{Lane: "a", Ask: "x", Trial: trial, Start: 1, Point: fmt.Sprint("x=", (trial-1)/2), Repeat: (trial - 1) % 2}})
		}
		b.Take("a", sweep.Event{Kind: sweep.Reported, At: at.Add(time.Duration(minute) * time.Minute), Trial: trial, Start: 1, Epoch: epoch, Value: value})
	}
	shows := func(want string) {
		t.Helper()
		got := ""
		for _, r := range b.Bests(s, 100) {
			got += fmt.Sprintf("%v %g trial %d; ", r.At.Sub(at), r.Value, r.Trial)
		}
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if all := b.Bests(s, 100); len(all) > 0 && all[len(all)-1].Value != b.Result(s).Value {
			t.Errorf("the last is %v, the result %v", all[len(all)-1], b.Result(s))
		}
	}
	shows("")
	reports(1, 1, 1, 0.5)
	shows("1m0s 0.5 trial 1; ") // no point is whole: as Result
	reports(2, 1, 2, 1)
	reports(3, 2, 1, 0.5)
	shows("3m0s 0.75 trial 1; ")
	reports(4, 3, 1, 2) // lucky
	shows("3m0s 0.75 trial 1; ")
	reports(5, 4, 1, 0.25)
	reports(6, 4, 2, 0.125) // worse than it was
	reports(7, 2, 2, 0.75)
	shows("3m0s 0.75 trial 1; 5m0s 1.125 trial 3; ")
	reports(8, 2, 3, 1.5)
	shows("3m0s 0.75 trial 1; 5m0s 1.125 trial 3; 8m0s 1.25 trial 2; ")
	b.Take("a", sweep.Event{Kind: sweep.EndedAs, At: at.Add(9 * time.Minute), Trial: 2, Start: 1, How: sweep.Failed})
	shows("1m0s 0.5 trial 1; 2m0s 1 trial 1; 5m0s 1.125 trial 3; ") // of its point one repeat is left
}
