package learn

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// MaxSamples bounds the samples of one key that are stored and used: the newest ones.
const MaxSamples = 512

// Store reads the samples that survive the daemon. It is the only thing that a Memory waits for.
type Store interface {
	// Samples returns the newest samples of a key, oldest first, at most limit.
	Samples(ctx context.Context, key string, limit int) ([]speed.Sample, error)
}

// Keys are the keys of a job's samples: the group that shares them (track.Rules.LearnerOf), a slash,
// and what was timed.
type Keys struct {
	Units string // the time of a unit of work
	Steps string // the time of a step, whatever the job counts in
}

// Memory has the samples and curves by key. It is not safe for concurrent use.
type Memory struct {
	Store Store

	samples  map[string][]speed.Sample
	curves   map[string]*speed.Curve
	foreseen map[string]*foresight
	series   map[string]series    // by Keys.Units
	partial  map[string]time.Time // by Keys.Units: when a curve was fitted although samples could not be read
}

// rereadAfter is for how long a curve without the samples that could not be read is used before they
// are read again. A store that is locked lets each read wait.
const rereadAfter = time.Minute

// New returns an empty memory.
func New(store Store) *Memory {
	return &Memory{
		Store:   store,
		samples: map[string][]speed.Sample{}, curves: map[string]*speed.Curve{}, foreseen: map[string]*foresight{}, series: map[string]series{}, partial: map[string]time.Time{},
	}
}

// Keep adds a sample. The caller stores it, in the store, on its own. While the earlier samples of
// the key cannot be read, Keep does nothing: the next read has the sample too. The key MUST have
// the form of Keys.
func (m *Memory) Keep(key string, s speed.Sample) {
	had, err := m.recall(key)
	if err != nil {
		return
	}
	m.samples[key] = append(had, s)
	if over := len(m.samples[key]) - MaxSamples; over > 0 {
		m.samples[key] = m.samples[key][over:]
	}
	for _, unit := range []elastic.Unit{elastic.Epochs, elastic.Steps} { // both curves use step times
		delete(m.curves, learnerOf(key)+"/"+string(unit))
	}
}

// Recall returns the samples of a key, which are read from the store the first time; nil if they
// cannot be read. The slice is the memory's, and MUST NOT be changed.
func (m *Memory) Recall(key string) []speed.Sample {
	got, _ := m.recall(key)
	return got
}

// recall is Recall with the error of the read. After one, the next call reads again.
func (m *Memory) recall(key string) ([]speed.Sample, error) {
	if got, ok := m.samples[key]; ok {
		return got, nil
	}
	got, err := m.Store.Samples(context.Background(), key, MaxSamples)
	if err != nil {
		return nil, err
	}
	m.samples[key] = got
	return got, nil
}

// Fit returns the curve of a job's samples; nil = there are none. It is fitted again only after Keep, Foresee or Forget
// invalidated it, and rereadAfter samples could not be read.
//
// If one of the two series cannot be read the curve is that of the other one; decisions go on with
// it rather than wait for a store. The curve is shared by all jobs of the keys, and MUST NOT be
// changed.
func (m *Memory) Fit(of Keys, now time.Time) *speed.Curve {
	at, partial := m.partial[of.Units]
	if c, ok := m.curves[of.Units]; ok && (!partial || now.Sub(at).Abs() < rereadAfter) {
		return c
	}
	units, err1 := m.recall(of.Units)
	steps, err2 := m.recall(of.Steps)
	if delete(m.partial, of.Units); err1 != nil || err2 != nil {
		m.partial[of.Units] = now
	}
	c := speed.FitWith(units, steps, now)
	if f := m.foreseen[m.telling(of)]; f != nil && f.choice != nil {
		c = c.Predicted(f.answer)
	}
	m.curves[of.Units] = c
	return c
}

// Curve returns the curve of the last Fit; nil if it was invalidated since.
func (m *Memory) Curve(of Keys) *speed.Curve { return m.curves[of.Units] }

// Forget removes the samples and curves of all groups that are not in live. The store keeps them.
// It bounds the memory: without it each job without a model would leave a series. A group that
// comes back is read from the store again.
func (m *Memory) Forget(live map[string]bool) {
	gone := func(key string) bool { return !live[learnerOf(key)] }
	maps.DeleteFunc(m.samples, func(key string, _ []speed.Sample) bool { return gone(key) })
	maps.DeleteFunc(m.curves, func(key string, _ *speed.Curve) bool { return gone(key) })
	maps.DeleteFunc(m.series, func(key string, _ series) bool { return gone(key) })
	maps.DeleteFunc(m.foreseen, func(key string, _ *foresight) bool { return gone(key) })
	maps.DeleteFunc(m.partial, func(key string, _ time.Time) bool { return gone(key) })
}

// Held is how many of each are in memory.
type Held struct{ Samples, Curves, Series, Foresights int }

// Held counts what is in memory. Samples counts keys.
func (m *Memory) Held() Held {
	return Held{len(m.samples), len(m.curves), len(m.series), len(m.foreseen)}
}

// learnerOf returns the group that shares the samples of a key.
func learnerOf(key string) string { return key[:strings.LastIndexByte(key, '/')] }
