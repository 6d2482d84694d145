package offcycle

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// slowStore is a store that blocks until it is released.
type slowStore struct {
	journal.Memory
	gate   chan struct{}
	refuse atomic.Bool
}

func (s *slowStore) AddSamples(ctx context.Context, model string, samples []speed.Sample) error {
	<-s.gate
	if s.refuse.Load() {
		return errors.New("disk full")
	}
	return s.Memory.AddSamples(ctx, model, samples)
}

func samplesAt(from, n int) (out []speed.Sample) {
	for i := range n {
		out = append(out, speed.Sample{Shape: speed.Shape{GPUs: 1, Nodes: 1}, Seconds: float64(from + i + 1), At: time.Unix(int64(from+i), 0)})
	}
	return out
}

func start(t *testing.T, under journal.Samples, told func(error)) *Samples {
	s := NewSamples(under, told)
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() { defer close(over); s.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-over })
	return s
}

// TestSlowStoreDelaysNoCaller: samples are accepted at once, read back in order, each once, and
// stored when the disk allows it.
func TestSlowStoreDelaysNoCaller(t *testing.T) {
	under := &slowStore{gate: make(chan struct{})}
	s := start(t, under, nil)
	ctx := context.Background()
	within(t, 100*time.Millisecond, func() {
		for i := range 10 {
			if err := s.AddSamples(ctx, "m", samplesAt(10*i, 10)); err != nil {
				t.Fatal(err)
			}
		}
	})
	same := func(when string, limit, first, n int) {
		t.Helper()
		got, err := s.Samples(ctx, "m", limit)
		if err != nil || len(got) != n || got[0].Seconds != float64(first) || got[n-1].Seconds != 100 {
			t.Errorf("%s: %d samples, %v", when, len(got), err)
		}
	}
	same("before they are stored", 512, 1, 100)
	same("the newest of them", 30, 71, 30)
	close(under.gate)
	eventually(t, "they are stored", func() bool { n, _ := s.Backlog(); return n == 0 })
	same("after that", 512, 1, 100)
	if got, _ := under.Memory.Samples(ctx, "m", 512); len(got) != 100 {
		t.Errorf("%d are stored", len(got))
	}
}

// TestSpeedsThatWaitAreBounded: beyond the bound the longest series is thinned, and its newest
// sample stays.
func TestSpeedsThatWaitAreBounded(t *testing.T) {
	s := NewSamples(new(journal.Memory), nil)
	ctx := context.Background()
	s.AddSamples(ctx, "small", samplesAt(0, 10))
	for i := range 100 {
		s.AddSamples(ctx, "flood", samplesAt(1000*i, 1000))
	}
	waiting, dropped := s.Backlog()
	if waiting > mostPending || waiting+int(dropped) != 100_010 {
		t.Errorf("%d wait, %d were dropped", waiting, dropped)
	}
	if got := s.pending("small"); len(got) != 10 {
		t.Errorf("of the small series %d are left", len(got))
	}
	if got := s.pending("flood"); got[len(got)-1].Seconds != 100_000 {
		t.Error("the newest was dropped")
	}
	for i := range 3 * mostPending {
		s.AddSamples(ctx, fmt.Sprint("model", i), samplesAt(i, 1))
	}
	if waiting, _ := s.Backlog(); waiting > mostPending || len(s.order) > mostPending || len(s.waiting) != len(s.order) {
		t.Errorf("%d wait in %d series", waiting, len(s.order))
	}
}

// TestStoreThatRefuses: nothing is lost, the error is reported once, and its end once.
func TestStoreThatRefuses(t *testing.T) {
	under := &slowStore{gate: make(chan struct{})}
	close(under.gate)
	under.refuse.Store(true)
	s := NewSamples(under, nil)
	ctx := context.Background()
	s.AddSamples(ctx, "m", samplesAt(0, 3))
	if err := s.Flush(ctx); err == nil {
		t.Fatal("stored on a full disk")
	}
	s.AddSamples(ctx, "m", samplesAt(3, 3))
	if got, err := s.Samples(ctx, "m", 512); err != nil || len(got) != 6 {
		t.Errorf("%d samples, %v", len(got), err)
	}
	under.refuse.Store(false)
	if err := s.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	got, _ := under.Memory.Samples(ctx, "m", 512)
	if n, _ := s.Backlog(); n != 0 || len(got) != 6 || got[0].Seconds != 1 || got[5].Seconds != 6 {
		t.Errorf("%d wait; stored: %v", n, got)
	}
}
