package story

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
)

// Journal is what the daemon keeps of its own.
type Journal interface {
	journal.Journal
	journal.Samples
}

// Shelf is where a story's journal lies between two lives of the daemon.
type Shelf interface {
	// Open gives the journal to a daemon that starts, with what has to be said of it;
	// now names files set aside.
	Open(now time.Time) (j Journal, notices []string, err error)
	// Close takes it back from one that ends; killed ones leave what they leave.
	Close(killed bool) error
	// Copy keeps a copy, PutBack puts it in the journal's place; without a copy
	// nothing happens. Lose removes the journal. All only while it is closed.
	Copy() error
	PutBack() error
	Lose() error
	// Hurt does to it what the act of that name says, in one of many ways, also while
	// it is open; Mend puts right what "store is newer" did. False: it cannot be.
	Hurt(what string, way uint64) (bool, error)
	Mend() error
	// Mark notes what is on the disk for certain, right before a write; Tear, once it
	// is closed, leaves of what was written since what a power loss may leave.
	Mark()
	Tear(way uint64) error
	// Folder is where checkpoints can be kept; "" = nowhere.
	Folder() string
	// Second gives the journal to a second daemon while the first has it. It fails
	// where that is refused; else the second has a copy of its own.
	Second(now time.Time) (Journal, error)
	// Remove clears everything away.
	Remove() error
}

// Shelves makes the shelf of a story.
type Shelves func(Story) (Shelf, error)

// InMemory keeps every story's journal in memory.
func InMemory(Story) (Shelf, error) { return &memory{now: new(journal.Memory)}, nil }

// memory is a shelf in memory.
type memory struct {
	now, copy *journal.Memory
	notices   []string // for who opens it next
}

// The store's own words: an audit looks for them.
const (
	emptied = "the store in memory is gone: an empty one is started"
	older   = "the store in memory is an older copy"
)

func (m *memory) Open(time.Time) (Journal, []string, error) {
	said := m.notices
	m.notices = nil
	return m.now, said, nil
}

func (m *memory) Close(bool) error                  { return nil }
func (m *memory) Second(time.Time) (Journal, error) { return m.now.Copy(), nil }
func (m *memory) Remove() error                     { return nil }
func (m *memory) Folder() string                    { return "" }
func (m *memory) Mend() error                       { return nil }
func (m *memory) Mark()                             {}
func (m *memory) Tear(uint64) error                 { return nil }

// Hurt does nothing: memory has no bytes.
func (m *memory) Hurt(string, uint64) (bool, error) { return false, nil }

func (m *memory) Copy() error {
	m.copy = m.now.Copy()
	return nil
}

func (m *memory) PutBack() error {
	if m.copy != nil {
		m.now, m.notices = m.copy.Copy(), []string{older}
	}
	return nil
}

func (m *memory) Lose() error {
	m.now, m.notices = new(journal.Memory), []string{emptied}
	return nil
}
