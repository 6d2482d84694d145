package figures

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
)

var oneCell = cell{"w1", 20 * time.Minute, 10 * time.Second}

// small is a figure of a few fast runs, with a bound.
var small = figure{9, "a cell", nil, func(b *bench) func(*sheet) {
	r := cellRow{cell: oneCell, entrant: yardsticks[:3]}
	for _, w := range r.entrant {
		r.runs = append(r.runs, b.ask(oneCell.trials(b, w, replay.Oracle)...))
	}
	r.bound = b.askBound(5, oneCell.trials(b, yardsticks[2], replay.Oracle)...)
	return func(s *sheet) { r.write(s, seedsA(b)) }
}}

func text(t *testing.T, o Options, figures ...figure) string {
	t.Helper()
	var out bytes.Buffer
	if err := run(context.Background(), o, figures, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestLinesAreTheSameInEveryRun: however many workers there are.
func TestLinesAreTheSameInEveryRun(t *testing.T) {
	one := text(t, Options{Seeds: 2, Workers: 1}, small)
	four := text(t, Options{Seeds: 2, Workers: 4}, small)
	if one != four {
		t.Errorf("one worker:\n%s\nfour:\n%s", one, four)
	}
	lines := regexp.MustCompile(`(?m)^9  w1@20m  10s .*seeds 1-2, oracle, 3x4, every 10s`).FindAllString(one, -1)
	if len(lines) != len(yardsticks[:3])+1 {
		t.Errorf("%d lines that name workload, seeds, information and setting:\n%s", len(lines), one)
	}
}

// TestNoPolicyIsBelowTheBound: the last line of a cell is the bound, and no policy is below it.
func TestNoPolicyIsBelowTheBound(t *testing.T) {
	b := newBench(context.Background(), Options{Seeds: 1, Workers: 2})
	runs := b.ask(oneCell.trials(b, yardsticks[2], replay.Oracle)...)
	low := b.askBound(5, oneCell.trials(b, yardsticks[2], replay.Oracle)...)
	b.start()
	if m := runs.means(); low.bound() <= 0 || low.bound() > m.jct {
		t.Errorf("bound %v, reached %v", low.bound(), m.jct)
	}
}

func TestWithoutDataFiguresSayso(t *testing.T) {
	got := text(t, Options{Only: []int{2, 3, 4, 8, 9, 10}, Workers: 1}, all...)
	if n := strings.Count(got, "not measured: it needs data that is not there"); n != 6 {
		t.Errorf("%d figures say that they were not measured, want 6:\n%s", n, got)
	}
	if strings.Contains(got, "Figure 1:") {
		t.Errorf("figures were not chosen:\n%s", got)
	}
}

func TestQuickSaysSo(t *testing.T) {
	if got := text(t, Options{Only: []int{2}, Quick: true, Workers: 1}, all...); !strings.HasPrefix(got, "# QUICK: ") {
		t.Errorf("got %q", got)
	}
}

// TestEverythingIsRunOnce: what two figures ask for is one run.
func TestEverythingIsRunOnce(t *testing.T) {
	b := newBench(context.Background(), Options{Seeds: 2})
	ts := oneCell.trials(b, yardsticks[0], replay.Oracle)
	x, y := b.ask(ts...), b.ask(ts...)
	if len(b.queue) != 2 || x.tasks[0] != y.tasks[0] {
		t.Errorf("%d tasks of two trials asked for twice", len(b.queue))
	}
}

func TestTheFirstErrorEndsAll(t *testing.T) {
	broken := figure{9, "broken", nil, func(b *bench) func(*sheet) {
		x := b.ask(trial{load: "w9", times: 1, policy: "fcfs", interval: time.Second})
		return func(*sheet) { x.means() }
	}}
	var out bytes.Buffer
	err := run(context.Background(), Options{Workers: 2}, []figure{broken}, &out)
	if err == nil || !strings.Contains(err.Error(), `"w9"`) {
		t.Errorf("got %v", err)
	}
}

func TestItCanBeStopped(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	var out bytes.Buffer
	if err := run(ctx, Options{Seeds: 1, Workers: 1}, []figure{small}, &out); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestGoals(t *testing.T) {
	s := newSheet(3)
	s.goal("mean", .858, .73, "")
	s.goal("mean", 2400, 2400, " s")
	var out bytes.Buffer
	if err := s.writeTo(&out); err != nil {
		t.Fatal(err)
	}
	want := "3  goal MISSED  mean: 0.858, at most 0.730\n3  goal met     mean: 2400 s, at most 2400 s\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// TestSnapshotsHoldTogether: no node's GPUs are allocated twice, every running job has a size
// that it accepts, and a seed always gives the same snapshot.
func TestSnapshotsHoldTogether(t *testing.T) {
	for _, z := range sizes[:2] {
		s, again := z.snapshot(3), z.snapshot(3)
		used := map[string]int{}
		waiting := 0
		for i, j := range s.Jobs {
			if !j.Place.Equal(again.Jobs[i].Place) {
				t.Fatalf("job %d: %v, then %v", j.ID, j.Place, again.Jobs[i].Place)
			}
			for _, share := range j.Place {
				used[share.Node] += share.GPUs
			}
			if n := j.GPUs(); n == 0 {
				waiting++
			} else if !j.Spec.Allows(n, z.nodes*z.gpus) {
				t.Errorf("job %d runs on %d GPUs, which it does not accept", j.ID, n)
			}
		}
		for _, n := range s.Nodes {
			if n.Used != used[n.Name] || n.Used > n.GPUs {
				t.Errorf("node %s: %d used, %d by jobs, of %d", n.Name, n.Used, used[n.Name], n.GPUs)
			}
		}
		if waiting < z.waiting || waiting > z.waiting+z.jobs/10 {
			t.Errorf("%s: %d jobs wait, want about %d", z, waiting, z.waiting)
		}
	}
}

// TestDecisionsAreTimed: by the clock given, twice a snapshot.
func TestDecisionsAreTimed(t *testing.T) {
	var now time.Duration
	b := newBench(context.Background(), Options{Clock: func() time.Duration { now += time.Millisecond; return now }})
	z := size{cluster{4, 4}, 20, 4, 3, 0, false}
	first, again := z.time(b)
	if len(first) != 3 || len(again) != 3 || rank(again, 99) != time.Millisecond {
		t.Errorf("got %v and %v", first, again)
	}
}

func TestToldWholeEpochs(t *testing.T) {
	var got []float64
	p := replay.WholeEpochs(policy.Policy{Allocate: func(s elastic.Snapshot) elastic.Allocation {
		for _, j := range s.Jobs {
			got = append(got, j.Done)
		}
		return nil
	}})
	s := elastic.Snapshot{}
	for _, done := range []float64{0, 3.4, 9.5} {
		s.Jobs = append(s.Jobs, elastic.Job{Done: done, Spec: elastic.Spec{Total: 10}})
	}
	p.Allocate(s)
	if len(got) != 3 || got[0] != 1 || got[1] != 4 || got[2] >= 10 || got[2] < 9.99 {
		t.Errorf("got %v", got)
	}
	if s.Jobs[0].Done != 0 {
		t.Error("the snapshot itself was changed")
	}
}

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{30 * time.Second: "30s", 8 * time.Minute: "8m", 90 * time.Second: "1m30s", time.Hour: "1h"} {
		if got := short(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
