package offcycle

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

const (
	// mostPending is how many samples may wait to be stored. Beyond it every second one of the
	// longest series is dropped until leftPending are left: the series of a model are thinned,
	// none is cut off.
	mostPending, leftPending = 8192, 6144
	// storeAgain is how long sluiced waits after the store returned an error.
	storeAgain = 5 * time.Second
)

// Samples is a journal.Samples over a store that may be slow. What is added is stored later, by one
// goroutine, and is read back as if it were stored. Samples that wait are lost if the daemon dies;
// only the quality of later predictions depends on them. Any goroutine may call AddSamples, Samples
// and Backlog.
type Samples struct {
	under journal.Samples
	told  func(error) // called when the store returns an error, and with nil when it works again

	mu      sync.Mutex
	waiting map[string][]speed.Sample
	order   []string // series that wait, the oldest first
	storing struct { // the series being written
		model   string
		samples []speed.Sample
	}
	count   int // number of samples that wait
	dropped uint64
	more    chan struct{}
}

var _ journal.Samples = (*Samples)(nil)

// NewSamples returns Samples over the store. told is called when the store returns an error,
// and with nil when it works again; it may be nil.
func NewSamples(under journal.Samples, told func(error)) *Samples {
	if told == nil {
		told = func(error) {}
	}
	return &Samples{under: under, told: told, waiting: map[string][]speed.Sample{}, more: make(chan struct{}, 1)}
}

// AddSamples queues samples to be stored. It never waits for the store and never fails. It copies
// the samples. If too many wait, some are dropped (mostPending), which is no error either: Backlog
// counts them.
func (s *Samples) AddSamples(_ context.Context, model string, samples []speed.Sample) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(samples) == 0 {
		return nil
	}
	if len(s.waiting[model]) == 0 {
		s.order = append(s.order, model)
	}
	s.waiting[model] = append(s.waiting[model], samples...)
	s.count += len(samples)
	s.bound()
	s.wake()
	return nil
}

// thin drops every second sample of the longest series, never its newest. If no series has two
// samples, those that have waited longest are dropped. A curve needs samples of all times and
// shapes more than it needs many. The caller holds the lock.
func (s *Samples) thin() {
	longest := 0
	for _, samples := range s.waiting {
		longest = max(longest, len(samples))
	}
	before := s.count
	for _, model := range slices.Clone(s.order) {
		all := s.waiting[model]
		switch {
		case longest == 1 && s.count > leftPending:
			delete(s.waiting, model)
			s.count--
		case longest > 1 && len(all) > longest/2:
			kept := make([]speed.Sample, 0, len(all)/2+1)
			for i := (len(all) - 1) % 2; i < len(all); i += 2 {
				kept = append(kept, all[i])
			}
			s.waiting[model] = kept
			s.count -= len(all) - len(kept)
		}
	}
	s.order = slices.DeleteFunc(s.order, func(m string) bool { return len(s.waiting[m]) == 0 })
	s.dropped += uint64(before - s.count)
}

// Samples returns the newest samples of a model, oldest first, with those that wait. It waits
// for the store and returns its error.
//
// The waiting ones are taken BEFORE the store is read: in the other order a sample that is stored
// in between would be in neither. In this one it may be in both, and is then left out once. Two
// equal samples of one model therefore count as one while they wait.
func (s *Samples) Samples(ctx context.Context, model string, limit int) ([]speed.Sample, error) {
	pending := s.pending(model)
	stored, err := s.under.Samples(ctx, model, limit)
	if err != nil || len(pending) == 0 {
		return stored, err
	}
	for _, x := range pending {
		if x = journal.NormalSample(x); !slices.Contains(stored, x) { // else it was written meanwhile
			stored = append(stored, x)
		}
	}
	slices.SortStableFunc(stored, func(a, b speed.Sample) int { return a.At.Compare(b.At) })
	return stored[max(0, len(stored)-max(limit, 0)):], nil
}

// pending returns a copy of the samples of a model that are being stored or wait.
func (s *Samples) pending(model string) (out []speed.Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.storing.model == model {
		out = append(out, s.storing.samples...)
	}
	return append(out, s.waiting[model]...)
}

// Backlog returns how many samples wait to be stored, and how many were dropped so far because
// too many waited.
func (s *Samples) Backlog() (waiting int, dropped uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count + len(s.storing.samples), s.dropped
}

// Run stores what is added, one series after the other, until ctx ends.
//
// It returns nil. One goroutine MUST call it, and Flush only AFTER it has returned: the series that
// is being stored has room for one. After an error it tries again every storeAgain, with what was
// added meanwhile.
func (s *Samples) Run(ctx context.Context) error {
	failed := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.more:
		}
		err := s.Flush(ctx)
		if err == nil && failed || err != nil && ctx.Err() == nil {
			failed = err != nil
			s.told(err)
		}
		if err == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(storeAgain):
			s.wake()
		}
	}
}

// Flush stores all that waits now, or returns the first error. What the store refuses stays queued.
// It has no bound of its own: ctx is the bound.
func (s *Samples) Flush(ctx context.Context) error {
	for {
		model, samples := s.take()
		if len(samples) == 0 {
			return nil
		}
		err := s.under.AddSamples(ctx, model, samples)
		s.settle(err)
		if err != nil {
			return err
		}
	}
}

// take removes and returns the series that has waited longest. It stays visible to readers as what
// is being stored, until settle. It returns "" and none if nothing waits.
func (s *Samples) take() (string, []speed.Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.order) == 0 {
		return "", nil
	}
	model := s.order[0]
	s.storing.model, s.storing.samples = model, s.waiting[model]
	s.count -= len(s.storing.samples)
	delete(s.waiting, model)
	s.order = s.order[1:]
	return model, s.storing.samples
}

// settle puts back what the store did not take, after the other series. They come before those of
// their series that were added meanwhile, and count for the bound again. The caller MUST have
// called take.
func (s *Samples) settle(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if model, samples := s.storing.model, s.storing.samples; err != nil {
		if len(s.waiting[model]) == 0 {
			s.order = append(s.order, model)
		}
		s.waiting[model] = append(slices.Clone(samples), s.waiting[model]...)
		s.count += len(samples)
		s.bound()
	}
	s.storing.model, s.storing.samples = "", nil
}

// bound keeps the samples that wait within mostPending. Each round of thin drops at least one
// sample, so that it ends. It thins to leftPending and not to mostPending, so that not each new
// sample thins again.
func (s *Samples) bound() {
	for over := s.count > mostPending; over && s.count > leftPending; {
		s.thin()
	}
}

// wake lets Run look at the queue. One signal is enough for any number of additions.
func (s *Samples) wake() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}
