package story

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine"
)

// Journal is what the daemon keeps of its own.
type Journal interface {
	engine.Journal
	engine.Samples
}

// Shelf is where a story's journal lies between two lives of the daemon.
type Shelf interface {
	// Open gives the journal to a daemon that starts; now names files set aside.
	Open(now time.Time) (Journal, error)
	// Close takes it back from one that ends; killed ones leave what they leave.
	Close(killed bool) error
	// Copy keeps a copy, PutBack puts it in the journal's place; without a copy
	// nothing happens. Lose removes the journal. All only while it is closed.
	Copy() error
	PutBack() error
	Lose() error
	// Second gives the journal to a second daemon while the first has it. It fails
	// where that is refused; else the second has a copy of its own.
	Second(now time.Time) (Journal, error)
	// Remove clears everything away.
	Remove() error
}

// Shelves makes the shelf of a story.
type Shelves func(Story) (Shelf, error)

// InMemory keeps every story's journal in memory.
func InMemory(Story) (Shelf, error) { return &memory{now: new(engine.Memory)}, nil }

// memory is a shelf in memory.
type memory struct{ now, copy *engine.Memory }

func (m *memory) Open(time.Time) (Journal, error)   { return m.now, nil }
func (m *memory) Close(bool) error                  { return nil }
func (m *memory) Second(time.Time) (Journal, error) { return m.now.Copy(), nil }
func (m *memory) Remove() error                     { return nil }

func (m *memory) Copy() error {
	m.copy = m.now.Copy()
	return nil
}

func (m *memory) PutBack() error {
	if m.copy != nil {
		m.now = m.copy.Copy()
	}
	return nil
}

func (m *memory) Lose() error {
	m.now = new(engine.Memory)
	return nil
}
