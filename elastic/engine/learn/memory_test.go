package learn

import (
	"context"
	"errors"
	"slices"
	"testing"

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
