package offcycle_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/offcycle"
	"github.com/sluice-hpc/sluice/elastic/past"
)

// keeper is a store that waits for its gate, and that may fail.
type keeper struct {
	mu      sync.Mutex
	gate    chan struct{} // nil = open
	err     error
	entries int
	samples int
	thinned int
}

func (k *keeper) Add(ctx context.Context, entries []past.Entry, samples []past.Sample, _ time.Time) error {
	if k.gate != nil {
		select {
		case <-k.gate:
		case <-ctx.Done():
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err == nil {
		k.entries, k.samples = k.entries+len(entries), k.samples+len(samples)
	}
	return k.err
}

func (k *keeper) Thin(context.Context, time.Time) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.thinned++
	return nil
}

func (k *keeper) counts() (int, int, int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.entries, k.samples, k.thinned
}

func clock() time.Time { return time.Unix(1_800_000_000, 0) }

// A store that hangs keeps nobody waiting: what is added is bounded and the rest is counted as dropped. Once it
// answers, what waited is stored, and at the end what is left.
func TestHistoryWaitsForNoStore(t *testing.T) {
	k := &keeper{gate: make(chan struct{})}
	var told []error
	h := offcycle.NewHistory(k, func(err error) { told = append(told, err) })
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx, clock, clock) }()
	for range 20 {
		h.Add(make([]past.Entry, 1000), past.Sample{})
	}
	h.Add(nil)
	if n := h.Dropped(); n < 10_000 || n > 13_000 {
		t.Errorf("%d were dropped", n)
	}
	close(k.gate)
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	entries, samples, thinned := k.counts()
	if n := h.Dropped(); uint64(entries+samples)+n != 20*1001 || samples == 0 || thinned > 1 || len(told) != 0 {
		t.Errorf("%d entries and %d samples are stored, %d were dropped, told %v", entries, samples, n, told)
	}
}

// An error is told once, and once that it is over; what the store refused is counted as dropped.
func TestHistoryTellsOnce(t *testing.T) {
	k := &keeper{err: errors.New("disk full")}
	told := make(chan error, 10)
	h := offcycle.NewHistory(k, func(err error) { told <- err })
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx, clock, clock) }()
	h.Add(make([]past.Entry, 3000))
	if err := <-told; err == nil || err.Error() != "disk full" {
		t.Errorf("told %v", err)
	}
	k.mu.Lock()
	k.err = nil
	k.mu.Unlock()
	h.Add(make([]past.Entry, 1))
	if err := <-told; err != nil {
		t.Errorf("told %v", err)
	}
	cancel()
	if err := <-done; err != nil || h.Dropped() == 0 || len(told) != 0 {
		t.Errorf("%v, %d dropped, %d more told", err, h.Dropped(), len(told))
	}
}
