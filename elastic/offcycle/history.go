package offcycle

import (
	"context"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/elastic/past"
)

// Keeper stores history; store.History is one. One goroutine calls it. Add stores all that it is
// given, or nothing; Thin drops what is too old.
type Keeper interface {
	Add(ctx context.Context, entries []past.Entry, samples []past.Sample, now time.Time) error
	Thin(ctx context.Context, now time.Time) error
}

const (
	// mostHistory is how many entries may wait to be stored; beyond it new ones are dropped.
	mostHistory = 8192
	// mostWaiting is how many samples may wait.
	mostWaiting = 16
	// historyPart is how many entries are stored in one call.
	historyPart = 1024
	// thinEvery is how often history is thinned.
	thinEvery = time.Hour
)

// History passes history to a store that may be slow, in one goroutine. What waits is lost if the
// daemon dies; nothing is decided by it. Any goroutine may call Add and Dropped.
type History struct {
	under Keeper
	told  func(error) // called when the store returns an error, and with nil when it works again

	mu      sync.Mutex
	entries []past.Entry
	samples []past.Sample
	dropped uint64
	more    chan struct{}
}

// NewHistory returns a History over the store. told MUST NOT be nil. It is called by Run's
// goroutine when errors begin and when they end, not for each.
func NewHistory(under Keeper, told func(error)) *History {
	return &History{under: under, told: told, more: make(chan struct{}, 1)}
}

// Add queues entries and samples. It never waits. It keeps the entries' bodies, which the caller
// MUST NOT change afterwards. When too many wait the new ones are dropped.
func (h *History) Add(entries []past.Entry, samples ...past.Sample) {
	if len(entries)+len(samples) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	room := min(len(entries), mostHistory-len(h.entries))
	h.entries = append(h.entries, entries[:room]...)
	h.dropped += uint64(len(entries) - room)
	for _, s := range samples {
		if len(h.samples) < mostWaiting {
			h.samples = append(h.samples, s)
		} else {
			h.dropped++
		}
	}
	select {
	case h.more <- struct{}{}:
	default:
	}
}

// Dropped returns how many entries and samples were dropped because too many waited, or because the store
// returned an error.
func (h *History) Dropped() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.dropped
}

// Run stores what is added until ctx ends, and then what is left. age returns the time by which history is
// thinned.
//
// It returns nil, at most storeAgain after ctx has ended. now MUST be the clock, since the times of
// a file that is set aside are from it; age MUST NOT be moved by a clock that is ahead, or
// everything would be thinned away: they are two for that reason. After an error it does not thin,
// and goes on when something new is added.
func (h *History) Run(ctx context.Context, now, age func() time.Time) error {
	failed := false
	tell := func(err error) {
		if (err != nil) != failed {
			failed = err != nil
			h.told(err)
		}
	}
	tick := time.NewTicker(thinEvery)
	defer tick.Stop()
	thin := true // once after a start
	for {
		for h.store(ctx, now, tell) && !failed {
		}
		if thin && !failed {
			thin = false
			tell(h.under.Thin(ctx, age()))
		}
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeAgain)
			defer cancel()
			for h.store(last, now, func(error) {}) {
			}
			return nil
		case <-h.more:
		case <-tick.C:
			thin = true
		}
	}
}

// store stores one part of what waits, and reports whether there was any. What the store refuses is
// dropped: a page without it is better than a queue that only grows. All samples that wait go with
// the first part. The lock is not held while the store works, so that Add never waits for a disk.
func (h *History) store(ctx context.Context, now func() time.Time, tell func(error)) bool {
	h.mu.Lock()
	n := min(len(h.entries), historyPart)
	entries, samples := h.entries[:n:n], h.samples
	h.entries, h.samples = h.entries[n:], nil
	h.mu.Unlock()
	if len(entries)+len(samples) == 0 {
		return false
	}
	err := h.under.Add(ctx, entries, samples, now())
	if err != nil {
		h.mu.Lock()
		h.dropped += uint64(len(entries) + len(samples))
		h.mu.Unlock()
	}
	tell(err)
	return true
}
