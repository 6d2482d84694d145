package track

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/nodes"
)

// TestLevels: of two trials, one three times as long as the other, the curve is that of the first in all sizes
// that any of them had, and each has its own times.
func TestLevels(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	var samples []speed.Sample
	report := func(l *levelled, gpus int, seconds float64) {
		s := speed.Sample{Shape: speed.Shape{GPUs: gpus, Nodes: 1}, Seconds: seconds, Units: 1, At: now}
		if s, ok := l.takeOut(s, speed.Fit(samples, now)); ok {
			samples = append(samples, s)
		}
	}
	var short, long, first levelled
	report(&short, 1, 10)
	report(&first, 2, 20) // it has begun with two, and nothing says yet that it takes four times as long
	if first.level != 0 || len(samples) != 1 {
		t.Errorf("level %v, %v", first.level, samples)
	}
	for range 3 {
		report(&short, 1, 10)
		report(&long, 1, 30)
	}
	for range 3 {
		report(&long, 4, 9) // the first to have four
	}
	curve := speed.Fit(samples, now)
	for gpus, want := range map[int]float64{1: 10, 4: 3} {
		for l, times := range map[*levelled]float64{&short: 1, &long: 3} {
			l.renew(curve)
			got, _ := l.curve.Seconds(speed.Shape{GPUs: gpus, Nodes: 1})
			if math.Abs(got/(want*times)-1) > levelGrain {
				t.Errorf("%d GPUs at level %v: %v s, want %v", gpus, l.level, got, want*times)
			}
		}
	}
	had := long.curve
	if long.renew(curve); long.curve != had {
		t.Error("a curve that did not change is made again")
	}
	if report(&long, 4, 9.1); long.level < 2.9 || long.level > 3.1 {
		t.Errorf("level %v", long.level)
	}
}

// noSamples is a store without samples.
type noSamples struct{}

func (noSamples) Samples(context.Context, string, int) ([]speed.Sample, error) { return nil, nil }

// TestLevelsOfSteps: the step times of a trial whose steps take three times as long say nothing of more GPUs but how
// it scales.
func TestLevelsOfSteps(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	st := New(Rules{}, noSamples{}, nil)
	pace := func(js *Job, gpus int, seconds float64) {
		js.Runs.Seg = &journal.Segment{Restarts: 0, Place: nodes.Placement{{Node: "n1", GPUs: gpus}}}
		st.foldProgress(js, checkpoint.Progress{Event: "pace", GPUs: gpus, Nodes: 1, Pace: seconds, Steps: 9}, now, true)
	}
	trial := func(token string) *Job {
		js := &Job{}
		js.Rec.Token, js.Rec.Tag.Spec = token, elastic.Spec{Model: "sweep", Sweep: "s"}
		return js
	}
	short, long := trial("a"), trial("b")
	for range 3 {
		pace(short, 1, .1)
		pace(long, 1, .3)
	}
	pace(long, 4, .09) // the first to have four
	curve := speed.Fit(st.Learnt.Recall(st.Rules.paceOf(short.Rec)), now)
	for gpus, want := range map[int]float64{1: .1, 4: .03} {
		if got, src := curve.Seconds(speed.Shape{GPUs: gpus, Nodes: 1}); src != speed.Measured || math.Abs(got/want-1) > levelGrain {
			t.Errorf("%d GPUs: %v s a step, want %v", gpus, got, want)
		}
	}
	if n := len(long.Learnt.paces); n != 4 {
		t.Errorf("%d step times of the long trial are stored, want 4", n)
	}
}
