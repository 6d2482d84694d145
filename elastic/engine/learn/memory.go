package learn

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// MaxSamples is how many samples of one model are used, and kept: the newest ones.
const MaxSamples = 512

// Store is where samples outlive the daemon.
type Store interface {
	// Samples returns the newest samples of a key, oldest first, at most limit.
	Samples(ctx context.Context, key string, limit int) ([]speed.Sample, error)
}

// Keys are those of a job's samples: who learns from it, a slash, and what the samples are of.
type Keys struct {
	Units string // the time of a unit of work
	Steps string // the time of a step, whatever the job counts in
}

// Memory is what was learnt, by key. One goroutine at a time may use it.
type Memory struct {
	Store Store

	samples  map[string][]speed.Sample
	curves   map[string]*speed.Curve
	foreseen map[string]*foresight
	series   map[string]series // by Keys.Units
}

// New returns a memory that holds nothing yet.
func New(store Store) *Memory {
	return &Memory{
		Store:   store,
		samples: map[string][]speed.Sample{}, curves: map[string]*speed.Curve{}, foreseen: map[string]*foresight{}, series: map[string]series{},
	}
}

// Keep takes in a sample.
func (m *Memory) Keep(key string, s speed.Sample) {
	m.samples[key] = append(m.Recall(key), s)
	if over := len(m.samples[key]) - MaxSamples; over > 0 {
		m.samples[key] = m.samples[key][over:]
	}
	for _, unit := range []elastic.Unit{elastic.Epochs, elastic.Steps} { // a pace is behind both
		delete(m.curves, learnerOf(key)+"/"+string(unit))
	}
}

// Recall returns the samples of a key, from the store the first time.
func (m *Memory) Recall(key string) []speed.Sample {
	if got, ok := m.samples[key]; ok {
		return got
	}
	got, err := m.Store.Samples(context.Background(), key, MaxSamples)
	if err != nil {
		return nil // asked again; a curve without history is only slower to learn
	}
	m.samples[key] = got
	return got
}

// Fit brings the curve of a job up to its samples, and returns it; nil where nothing is known.
func (m *Memory) Fit(of Keys, now time.Time) *speed.Curve {
	if c, ok := m.curves[of.Units]; ok {
		return c
	}
	c := speed.FitWith(m.Recall(of.Units), m.Recall(of.Steps), now)
	if f := m.foreseen[m.telling(of)]; f != nil && f.choice != nil {
		c = c.Predicted(f.answer)
	}
	m.curves[of.Units] = c
	return c
}

// Curve is the one that was fitted last.
func (m *Memory) Curve(of Keys) *speed.Curve { return m.curves[of.Units] }

// Forget drops what was learnt of all but those who still learn; the store keeps it.
func (m *Memory) Forget(live map[string]bool) {
	gone := func(key string) bool { return !live[learnerOf(key)] }
	maps.DeleteFunc(m.samples, func(key string, _ []speed.Sample) bool { return gone(key) })
	maps.DeleteFunc(m.curves, func(key string, _ *speed.Curve) bool { return gone(key) })
	maps.DeleteFunc(m.series, func(key string, _ series) bool { return gone(key) })
	maps.DeleteFunc(m.foreseen, func(key string, _ *foresight) bool { return gone(key) })
}

// Held is how much is in memory, of each kind.
type Held struct{ Samples, Curves, Series, Foresights int }

// Held counts what is in memory: samples by their keys.
func (m *Memory) Held() Held {
	return Held{len(m.samples), len(m.curves), len(m.series), len(m.foreseen)}
}

// learnerOf is who learns from the samples of a key.
func learnerOf(key string) string { return key[:strings.LastIndexByte(key, '/')] }
