package learn

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// shelf is a store that can fail, and counts reads.
type shelf struct {
	has   map[string][]speed.Sample
	err   error
	asked int
}

func (s *shelf) Samples(_ context.Context, key string, limit int) ([]speed.Sample, error) {
	s.asked++
	return slices.Clone(s.has[key][max(0, len(s.has[key])-limit):]), s.err
}

// TestRecall: samples are read from the store once, and again after a failure. After Keep the newest
// MaxSamples are left.
func TestRecall(t *testing.T) {
	sample := speed.Sample{Shape: speed.Shape{GPUs: 1, Nodes: 1}, Seconds: 10, Units: 1, At: foreseeNoon}
	store := &shelf{has: map[string][]speed.Sample{m.Units: {sample}}, err: errors.New("the disk is full")}
	e := New(store)
	if got := e.Recall(m.Units); got != nil || e.Held().Samples != 0 {
		t.Errorf("of a store that fails: %v", got)
	}
	store.err = nil
	for range 2 {
		if got := e.Recall(m.Units); len(got) != 1 {
			t.Errorf("%d samples, want that of the store", len(got))
		}
	}
	if store.asked != 2 {
		t.Errorf("the store was asked %d times, want once after it failed", store.asked)
	}
	for i := range MaxSamples + 5 {
		sample.Seconds = float64(i + 1)
		e.Keep(m.Units, sample)
	}
	if got := e.Recall(m.Units); len(got) != MaxSamples || got[0].Seconds != 6 {
		t.Errorf("%d samples, the oldest of %v s", len(got), got[0].Seconds)
	}
}

// TestFit: a curve is reused until its model gets a sample, even one in another unit.
func TestFit(t *testing.T) {
	e := trained(seenShapes[0])
	first := e.Fit(m, foreseeNoon)
	if e.Fit(m, foreseeNoon) != first || e.Curve(m) != first || first.Samples() != 3 {
		t.Errorf("%d samples, or fitted twice", first.Samples())
	}
	e.Keep(n.Units, speed.Sample{Shape: seenShapes[0], Seconds: 1, Units: 1, At: foreseeNoon})
	if e.Curve(m) != first {
		t.Error("fitted again for another model's sample")
	}
	for _, key := range []string{m.Units, m.Steps, "user:7/model:m/step"} {
		was := e.Fit(m, foreseeNoon)
		if e.Keep(key, speed.Sample{Shape: seenShapes[1], Seconds: 1, Units: 1, At: foreseeNoon}); e.Curve(m) != nil || e.Fit(m, foreseeNoon) == was {
			t.Errorf("not fitted again after a sample of %s", key)
		}
	}
}

// TestFitAfterAFailedRead: a curve that was fitted while the store could not be read is fitted again with
// the stored samples once a minute has passed, also if its model gets no sample meanwhile. A sample
// that it does get does not stand for all that is stored.
func TestFitAfterAFailedRead(t *testing.T) {
	stored := speed.Sample{Shape: seenShapes[0], Seconds: 10, Units: 1, At: foreseeNoon}
	for name, c := range map[string]struct {
		after time.Duration
		gets  bool // its model gets a sample while the store fails
		reads int  // of the store, in all
		want  int  // samples of the curve
	}{
		"within the minute":          {rereadAfter - 1, false, 2, 0},
		"after a minute":             {rereadAfter, false, 4, 2},
		"the clock was set back":     {-rereadAfter, false, 4, 2},
		"a sample came meanwhile":    {rereadAfter, true, 5, 2},
		"... and the minute goes on": {rereadAfter - 1, true, 3, 0},
	} {
		store := &shelf{has: map[string][]speed.Sample{m.Units: {stored, stored}}, err: errors.New("the store is locked")}
		e := New(store)
		if got := e.Fit(m, foreseeNoon); got != nil {
			t.Errorf("%s: a curve of %d samples that could not be read", name, got.Samples())
		}
		if c.gets {
			e.Keep(m.Units, stored)
		}
		store.err = nil
		for range 3 {
			if got := e.Fit(m, foreseeNoon.Add(c.after)).Samples(); got != c.want {
				t.Errorf("%s: a curve of %d samples, want %d", name, got, c.want)
			}
		}
		if store.asked != c.reads {
			t.Errorf("%s: the store was read %d times, want %d", name, store.asked, c.reads)
		}
	}
}
