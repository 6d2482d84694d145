package contract

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

func sample(gpus int, at time.Time) speed.Sample {
	return speed.Sample{Shape: speed.Shape{GPUs: gpus, Nodes: 1}, Seconds: 1 / float64(gpus), Units: 2, At: at, Kind: "a100", Split: "1", Beside: 3}
}

// Samples are ordered by time, oldest first and unknown times before all, whatever the order of
// saving; a limit selects the newest.
func testSamples(t *testing.T, s Subject) {
	ctx := t.Context()
	one, two, three := sample(1, day), sample(2, day.Add(1)), sample(3, day.Add(2))
	equal(t, nil, nil, s.AddSamples(ctx, "m", []speed.Sample{one, three}))
	equal(t, nil, nil, s.AddSamples(ctx, "m", []speed.Sample{two}))
	equal(t, nil, nil, s.AddSamples(ctx, "other", []speed.Sample{sample(9, day), sample(8, time.Time{})}))
	for limit, want := range map[int][]speed.Sample{5: {one, two, three}, 3: {one, two, three}, 2: {two, three}, 0: {}, -1: {}} {
		got, err := s.again().Samples(ctx, "m", limit)
		if err != nil || len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("limit %d: %v %v, want %v", limit, got, err, want)
		}
	}
	got, err := s.again().Samples(ctx, "other", 9)
	equal(t, got, []speed.Sample{sample(8, time.Time{}), sample(9, day)}, err)
}

// Of one model only the newest journal.MaxSamples are kept.
func testSampleBound(t *testing.T, s Subject) {
	ctx := t.Context()
	many := make([]speed.Sample, journal.MaxSamples+5)
	for i := range many {
		many[i] = sample(1+i, day.Add(time.Duration(i)))
	}
	equal(t, nil, nil, s.AddSamples(ctx, "m", many[:journal.MaxSamples]))
	equal(t, nil, nil, s.AddSamples(ctx, "m", many[journal.MaxSamples:]))
	got, err := s.again().Samples(ctx, "m", len(many))
	if err != nil || len(got) != journal.MaxSamples || got[0] != many[5] {
		t.Errorf("%d samples, %v; want the newest %d", len(got), err, journal.MaxSamples)
	}
}

// However many models a user names, a bounded number is kept, the most recent ones, and the
// series of other users, and of jobs without a model, are not deleted for them.
func testSeriesBound(t *testing.T, s Subject) {
	ctx := t.Context()
	own := func(n int) string { return fmt.Sprintf("user:7/model:%04d/epoch", n) }
	others := []string{"user:6/model:x/epoch", "user:70/model:x/epoch", "model:x/epoch", "job:x/epoch"}
	for _, key := range others {
		equal(t, nil, nil, s.AddSamples(ctx, key, []speed.Sample{sample(1, day.Add(-time.Hour))}))
	}
	for n := range journal.MaxSeries {
		equal(t, nil, nil, s.AddSamples(ctx, own(n), []speed.Sample{sample(1, day.Add(time.Duration(n)))}))
	}
	equal(t, nil, nil, s.AddSamples(ctx, own(0), []speed.Sample{sample(2, day.Add(time.Hour))})) // a new sample of it
	equal(t, nil, nil, s.AddSamples(ctx, own(9999), []speed.Sample{sample(1, day.Add(time.Hour))}))
	for key, want := range map[string]int{own(0): 2, own(1): 0, own(2): 1, own(9999): 1, others[0]: 1, others[1]: 1, others[2]: 1, others[3]: 1} {
		if got, err := s.again().Samples(ctx, key, 9); err != nil || len(got) != want {
			t.Errorf("%s has %d samples, want %d (%v)", key, len(got), want, err)
		}
	}
}
