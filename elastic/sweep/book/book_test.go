package book_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
)

var (
	noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	acc  = sweep.Metric{Name: "acc", Max: true}
)

// began begins trials in lane "a", the first ask being "a1".
func began(trials int) *book.Book {
	b := book.New()
	for n := 1; n <= trials; n++ {
		b.Apply(book.Entry{At: noon, Tell: &book.Telling{Lane: "a", Ask: fmt.Sprint("a", n), Trial: n, Start: 1, Point: fmt.Sprint("x=", n)}})
	}
	return b
}

// TestSort: every list of trials has this order, and the best of all is its first.
func TestSort(t *testing.T) {
	b := began(6)
	for n, value := range map[int]float64{1: .5, 2: .9, 3: .7, 5: .7} {
		b.Take("a", sweep.Event{Kind: sweep.Reported, Trial: n, Start: 1, Epoch: 1, Value: value})
	}
	b.Take("a", sweep.Event{Kind: sweep.EndedAs, Trial: 2, Start: 1, How: sweep.Failed})
	var got []int
	for _, trial := range b.Sort(sweep.Sweep{Metric: acc}) {
		got = append(got, trial.Number)
	}
	if want := []int{3, 5, 1, 2, 4, 6}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if best, _ := b.Best(acc); best.Number != 3 {
		t.Errorf("best %d", best.Number)
	}
	for i, trial := range b.Trials {
		if trial.Number != i+1 {
			t.Fatal("the book's own order is another one")
		}
	}
}

// TestFound: a record that was lost, and written to again after that, has the newest answers; the lines
// before them do not undo them, and are to be recorded.
func TestFound(t *testing.T) {
	b := book.New()
	b.Apply(book.Entry{At: noon, Tell: &book.Telling{Lane: "a", Ask: "a3", Trial: 3, Start: 1, Point: "x=3"}})
	for n := 1; n <= 3; n++ {
		b.Take("a", sweep.Event{Kind: sweep.Began, Trial: n, Start: 1, Ask: fmt.Sprint("a", n), Point: fmt.Sprint("x=", n)})
	}
	if got := b.Answers["a"].Ask; got != "a3" {
		t.Errorf("the answer to %s, want a3", got)
	}
	found := b.Found()
	if len(found) != 2 || found[0].Tell.Trial != 1 || found[1].Tell.Trial != 2 || b.Lacks() {
		t.Fatalf("%+v", found)
	}
	// An older record was put back: the lane began trials after what it has.
	b = book.New()
	b.Apply(book.Entry{At: noon, Tell: &book.Telling{Lane: "a", Ask: "a1", Trial: 1, Start: 1, Point: "x=1"}})
	for n := 1; n <= 2; n++ {
		b.Take("a", sweep.Event{Kind: sweep.Began, Trial: n, Start: 1, Ask: fmt.Sprint("a", n), Point: fmt.Sprint("x=", n)})
	}
	if got := b.Answers["a"].Ask; got != "a2" {
		t.Errorf("the answer to %s, want a2", got)
	}
}

// TestDropped: in whatever order lanes are read, a trial that ran after its checkpoints were removed has
// those that it made then.
func TestDropped(t *testing.T) {
	b := began(1)
	b.Take("a", sweep.Event{Kind: sweep.EndedAs, Trial: 1, Start: 1, How: sweep.Done, At: noon.Add(time.Hour), Checkpoint: "/c/2", Bytes: 5})
	b.Take("b", sweep.Event{Kind: sweep.Dropped, Trial: 1, Start: 1, At: noon.Add(time.Minute)})
	if trial := b.Trial(1); trial.Dropped || trial.Checkpoint != "/c/2" {
		t.Errorf("%+v", trial)
	}
	b.Take("b", sweep.Event{Kind: sweep.Dropped, Trial: 1, Start: 1, At: noon.Add(2 * time.Hour)})
	if trial := b.Trial(1); !trial.Dropped || trial.Bytes != 0 {
		t.Errorf("%+v", trial)
	}
}

// TestRepeats: the value of a point is the mean of its repeats that did not fail, and one that is not whole
// is not better than one that is.
func TestRepeats(t *testing.T) {
	b := book.New()
	s := sweep.Sweep{Metric: acc, Repeats: 2}
	for n, value := range []float64{.4, .8, .9, 0, .95} { // points x=0, x=0, x=1, x=1, x=2
		e := sweep.Event{Kind: sweep.Began, Trial: n + 1, Start: 1, Ask: fmt.Sprint("a", n), Point: fmt.Sprint("x=", n/2), Repeat: n % 2}
		b.Take("a", e)
		if value > 0 {
			b.Take("a", sweep.Event{Kind: sweep.Reported, Trial: n + 1, Start: 1, Epoch: 1, Value: value})
		}
	}
	if best, ok := b.Leader(s); !ok || best.Trials[0].Point != "x=0" || best.Value < .599 || best.Value > .601 || !best.Whole {
		t.Errorf("%+v, %v", best, ok)
	}
	b.Take("a", sweep.Event{Kind: sweep.EndedAs, Trial: 4, Start: 1, How: sweep.Failed})
	if best, _ := b.Leader(s); best.Trials[0].Point != "x=1" || best.Value != .9 || best.Marks != 1 {
		t.Errorf("once its other repeat failed: %+v", best)
	}
	var got []int
	for _, trial := range b.Sort(s) {
		got = append(got, trial.Number)
	}
	if want := []int{3, 4, 1, 2, 5}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestStartsOnce: an entry that is applied again, or is older than what is known, undoes nothing.
func TestStartsOnce(t *testing.T) {
	b := began(1)
	b.Take("a", sweep.Event{Kind: sweep.EndedAs, Trial: 1, Start: 1, How: sweep.Done})
	b.Apply(book.Entry{At: noon, Tell: &book.Telling{Lane: "b", Ask: "b1", Trial: 1, Start: 1, Point: "x=1"}})
	if trial := b.Trial(1); trial.State != book.Done || trial.Lane != "a" {
		t.Errorf("%+v", trial)
	}
}

// TestLateLane: a lane that was given up neither ends the trial that another lane runs now, nor runs on.
func TestLateLane(t *testing.T) {
	b := began(1)
	s := sweep.Sweep{Metric: acc, Trials: 1, Parallel: 2, KeepGB: 1}
	b.Apply(book.Entry{Back: &book.Which{Lane: "a", Trial: 1, Start: 1}})
	b.Apply(book.Entry{At: noon, Tell: &book.Telling{Lane: "b", Ask: "b1", Trial: 1, Start: 2, Point: "x=1"}})
	b.Take("a", sweep.Event{Kind: sweep.EndedAs, Trial: 1, Start: 2, How: sweep.Done})
	if trial := b.Trial(1); trial.State != book.Running {
		t.Errorf("ended by another lane: %+v", trial)
	}
	if tell, ok := b.Teller(s).Told("a", "a1"); !ok || !tell.Stop {
		t.Errorf("the lane that was given up: %+v, %v", tell, ok)
	}
	if tell, ok := b.Teller(s).Told("b", "b1"); !ok || tell.Stop {
		t.Errorf("the lane that runs it: %+v, %v", tell, ok)
	}
	b.Take("b", sweep.Event{Kind: sweep.EndedAs, Trial: 1, Start: 2, How: sweep.Saved})
	if trial := b.Trial(1); trial.State != book.Waiting {
		t.Errorf("saved: %+v", trial)
	}
}

// TestNodeFaults: a trial is started once more after a node was at fault, and not again.
func TestNodeFaults(t *testing.T) {
	b := began(1)
	fault := sweep.Event{Kind: sweep.EndedAs, Trial: 1, Start: 1, How: sweep.Failed, Words: "lost", Node: true}
	b.Take("a", fault)
	if trial := b.Trial(1); trial.State != book.Waiting {
		t.Fatalf("%+v", trial)
	}
	b.Apply(book.Entry{At: noon, Tell: &book.Telling{Lane: "b", Ask: "b1", Trial: 1, Start: 2, Point: "x=1"}})
	fault.Start = 2
	b.Take("b", fault)
	if trial := b.Trial(1); trial.State != book.Failed || trial.Words != "lost" {
		t.Errorf("%+v", trial)
	}
}

// TestDropKeepsTheBest: what does not fit into --keep-gb goes, the worst first; the best stays even if it
// does not fit, and so do those of trials that run.
func TestDropKeepsTheBest(t *testing.T) {
	b := began(4)
	for n, value := range []float64{.5, .9, .7, .6} {
		b.Take("a", sweep.Event{Kind: sweep.Reported, Trial: n + 1, Start: 1, Epoch: 1, Value: value})
		if n < 3 {
			b.Take("a", sweep.Event{Kind: sweep.EndedAs, Trial: n + 1, Start: 1, How: sweep.Done, Checkpoint: "/c", Bytes: 6e8})
		}
	}
	drop := func(gb float64) []int {
		tell, _ := b.Teller(sweep.Sweep{Metric: acc, KeepGB: gb, Trials: 4, Parallel: 1}).Told("a", "a4")
		return tell.Drop
	}
	for gb, want := range map[float64][]int{2: nil, 1.3: {1}, 1: {3, 1}, .1: {3, 1}} {
		if got := drop(gb); !slices.Equal(got, want) {
			t.Errorf("%g GB: drops %v, want %v", gb, got, want)
		}
	}
}

// TestResumes: what a user changes makes a sweep that is over go on, if the reason does not hold any more.
func TestResumes(t *testing.T) {
	goal := .5
	b := began(2)
	b.Take("a", sweep.Event{Kind: sweep.Reported, Trial: 1, Start: 1, Epoch: 1, Value: .6})
	b.Take("a", sweep.Event{Kind: sweep.EndedAs, Trial: 2, Start: 1, How: sweep.Failed})
	for _, c := range []struct {
		over  book.End
		sweep sweep.Sweep
		want  bool
	}{
		{book.AllTried, sweep.Sweep{Trials: 2}, false}, {book.AllTried, sweep.Sweep{Trials: 3}, true}, {book.AllTried, sweep.Sweep{Trials: 3, State: sweep.Stopped}, false},
		{book.TooMany, sweep.Sweep{MaxFailures: 1}, false}, {book.TooMany, sweep.Sweep{MaxFailures: 2}, true},
		{book.AtGoal, sweep.Sweep{Goal: &goal}, false}, {book.AtGoal, sweep.Sweep{}, true}, {book.ByUser, sweep.Sweep{}, true},
		{book.TooLong, sweep.Sweep{Within: time.Hour}, false}, {book.TooLong, sweep.Sweep{Within: 3 * time.Hour}, true}, {book.Exhausted, sweep.Sweep{Trials: 9}, false},
	} {
		b.Over, c.sweep.Metric = c.over, acc
		if got := b.Resumes(c.sweep, noon.Add(2*time.Hour)); got != c.want {
			t.Errorf("%s, %+v: %v, want %v", c.over, c.sweep, got, c.want)
		}
	}
}

// TestFoundIsBounded: a user who writes lines for ever fills no record.
func TestFoundIsBounded(t *testing.T) {
	b := book.New()
	for start := 1; start <= 30_000; start++ {
		b.Take("a", sweep.Event{Kind: sweep.Began, Trial: 1, Start: start, Ask: "a1", Point: "x=1"})
	}
	if n := len(b.Found()); n != 2*sweep.MaxTrials {
		t.Errorf("%d entries", n)
	}
}

// TestCurvesAreBounded: of a trial a bounded number of epochs is kept, in whatever order they are reported; one
// that is there already is still corrected.
func TestCurvesAreBounded(t *testing.T) {
	b := began(1)
	for e := 30_000; e > 0; e-- {
		b.Take("a", sweep.Event{Kind: sweep.Reported, Trial: 1, Start: 1, Epoch: float64(e), Value: .5})
	}
	b.Take("a", sweep.Event{Kind: sweep.Reported, Trial: 1, Start: 1, Epoch: 30_000, Value: .7})
	if last, _ := b.Trial(1).Last(); len(b.Trial(1).Curve) != 20_000 || last.Epoch != 30_000 || last.Value != .7 || b.Full() {
		t.Errorf("%d marks, the last %+v", len(b.Trial(1).Curve), last)
	}
}

// TestDropKeepsWhatIsNamed: the checkpoint that is named as the sweep's best stays, also where its point was tried
// several times: by a program that asks for it again, or with --repeats.
func TestDropKeepsWhatIsNamed(t *testing.T) {
	for _, repeats := range []int{0, 3} {
		s := sweep.Sweep{Metric: acc, Trials: 6, Parallel: 1, KeepGB: 1, Repeats: repeats}
		b := book.New()
		for n, value := range []float64{.8, .8, .8, .5, .95, 1} { // points x=0, x=1
			b.Apply(book.Entry{At: noon, Tell: &book.Telling{Lane: "a", Ask: fmt.Sprint("a", n+1), Trial: n + 1, Start: 1, Point: fmt.Sprint("x=", n/3), Repeat: n % 3}})
			b.Take("a", sweep.Event{Kind: sweep.Reported, Trial: n + 1, Start: 1, Epoch: 1, Value: value})
			b.Take("a", sweep.Event{Kind: sweep.EndedAs, Trial: n + 1, Start: 1, How: sweep.Done, Checkpoint: "/c", Bytes: 8e8})
		}
		leader, _ := b.Leader(s)
		best, _ := leader.Best(acc)
		tell, _ := b.Teller(s).Told("a", "a6")
		if best.Number != 6 || len(tell.Drop) != 5 || slices.Contains(tell.Drop, best.Number) {
			t.Errorf("repeats %d: the best is trial %d, and %v are dropped", repeats, best.Number, tell.Drop)
		}
	}
}

// TestResultsAreOfPoints: with repeats the level counts each point once, when all of its trials have ended.
func TestResultsAreOfPoints(t *testing.T) {
	b := book.New()
	for n, value := range []float64{.25, .75, 1, .5, .5} { // points x=0, x=0, x=1, x=1, x=2
		b.Apply(book.Entry{At: noon, Tell: &book.Telling{Lane: "a", Ask: fmt.Sprint("a", n+1), Trial: n + 1, Start: 1, Point: fmt.Sprint("x=", n/2), Repeat: n % 2}})
		b.Take("a", sweep.Event{Kind: sweep.Reported, Trial: n + 1, Start: 1, Epoch: 1, Value: value})
		if n != 3 {
			b.Take("a", sweep.Event{Kind: sweep.EndedAs, At: noon.Add(time.Duration(n) * time.Minute), Trial: n + 1, Start: 1, How: sweep.Done})
		}
	}
	s := sweep.Sweep{Metric: acc, Repeats: 2}
	if got := b.Results(s); !slices.Equal(got, []float64{.5}) {
		t.Errorf("while a repeat runs: %v", got)
	}
	b.Take("a", sweep.Event{Kind: sweep.EndedAs, At: noon.Add(time.Hour), Trial: 4, Start: 1, How: sweep.Failed})
	if got := b.Results(s); !slices.Equal(got, []float64{.5, 1}) {
		t.Errorf("once it failed: %v", got)
	}
	if s.Repeats = 0; !slices.Equal(b.Results(s), []float64{.25, .75, 1, .5}) {
		t.Errorf("without repeats: %v", b.Results(s))
	}
}

// TestMeansAreFinite: the mean of values is finite where their sum is not, or all sweeps' lists could not be written.
func TestMeansAreFinite(t *testing.T) {
	for _, values := range [][]float64{{1e308, 1e308}, {-1e308, -1e308, -1e308}, {math.MaxFloat64, math.MaxFloat64, math.MaxFloat64}, {math.MaxFloat64, math.MaxFloat64, -math.MaxFloat64, -math.MaxFloat64}} {
		b := book.New()
		for n, value := range values {
			b.Apply(book.Entry{At: noon, Tell: &book.Telling{Lane: "a", Ask: "a", Trial: n + 1, Start: 1, Point: "x=1", Repeat: n}})
			b.Take("a", sweep.Event{Kind: sweep.Reported, Trial: n + 1, Start: 1, Epoch: 1, Value: value})
		}
		got := b.Result(sweep.Sweep{Metric: acc, Repeats: len(values)}).Value
		if math.IsInf(got, 0) || math.IsNaN(got) || got > slices.Max(values) || got < slices.Min(values) {
			t.Errorf("%v: %g", values, got)
		}
	}
}

// TestDropsAreFoundOnce: for all lanes of a look the trials to drop are one list, since it takes a look at all trials.
func TestDropsAreFoundOnce(t *testing.T) {
	b := began(3)
	for n := 1; n <= 2; n++ {
		b.Take("a", sweep.Event{Kind: sweep.Reported, Trial: n, Start: 1, Epoch: 1, Value: float64(n)})
		b.Take("a", sweep.Event{Kind: sweep.EndedAs, Trial: n, Start: 1, How: sweep.Done, Checkpoint: "/c", Bytes: 8e8})
	}
	b.Apply(book.Entry{Leave: &book.Which{Lane: "b", Ask: "b1"}})
	teller := b.Teller(sweep.Sweep{Metric: acc, KeepGB: 1, Trials: 3, Parallel: 2})
	x, _ := teller.Told("a", "a3")
	y, _ := teller.Told("b", "b1")
	if len(x.Drop) != 1 || len(y.Drop) != 1 || &x.Drop[0] != &y.Drop[0] {
		t.Errorf("%v and %v", x.Drop, y.Drop)
	}
}
