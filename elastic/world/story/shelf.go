package story

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
)

// Journal is the daemon's own storage.
type Journal interface {
	journal.Journal
	journal.Samples
}

// Shelf holds a scenario's journal between two starts of the daemon.
type Shelf interface {
	// Open returns the journal for a starting daemon, with the store's notices; now names files
	// that are set aside.
	Open(now time.Time) (j Journal, notices []string, err error)
	// Close ends its use; after a kill the files stay as they are.
	Close(killed bool) error
	// Copy makes a copy; PutBack replaces the journal by the copy, if there is one; Lose
	// removes the journal. The journal MUST be closed.
	Copy() error
	PutBack() error
	Lose() error
	// Hurt damages the journal as the act of that name says, also while it is open; way
	// selects how. False: not possible. Mend undoes "store is newer".
	Hurt(what string, way uint64) (bool, error)
	Mend() error
	// Mark records the contents of the disk right before a write. Tear, once the journal is
	// closed, undoes parts of what was written since, as a power loss may.
	Mark()
	Tear(way uint64) error
	// Folder is where checkpoints can be stored; "" = nowhere.
	Folder() string
	// Second opens the journal for a second daemon while the first uses it. It fails if the
	// store refuses that; otherwise the second has a copy.
	Second(now time.Time) (Journal, error)
	// Remove deletes everything.
	Remove() error
}

// Shelves makes the shelf of a scenario.
type Shelves func(Story) (Shelf, error)

// InMemory makes shelves in memory.
func InMemory(Story) (Shelf, error) { return &memory{now: new(journal.Memory)}, nil }

// memory is a shelf in memory.
type memory struct {
	now, copy *journal.Memory
	notices   []string // for the next Open
}

// The store's own notices, which the audit recognises.
const (
	emptied = "the store in memory is gone: an empty one is started"
	older   = "the store in memory is an older copy"
)

// Open returns the journal as it is, and says once if it was emptied or put back.
func (m *memory) Open(time.Time) (Journal, []string, error) {
	said := m.notices
	m.notices = nil
	return m.now, said, nil
}

// Close does nothing: what a killed daemon had written stays as it is.
func (m *memory) Close(bool) error { return nil }

// Second returns a copy: memory is not locked against a second daemon.
func (m *memory) Second(time.Time) (Journal, error) { return m.now.Copy(), nil }

// Remove does nothing: there is no folder.
func (m *memory) Remove() error { return nil }

// Folder is "": scenarios in memory store no checkpoints.
func (m *memory) Folder() string { return "" }

// Mend does nothing, as Hurt has done nothing.
func (m *memory) Mend() error { return nil }

// Mark does nothing: Tear needs no contents from before.
func (m *memory) Mark() {}

// Tear does nothing: memory loses no parts of a write.
func (m *memory) Tear(uint64) error { return nil }

// Hurt does nothing: memory has no bytes.
func (m *memory) Hurt(string, uint64) (bool, error) { return false, nil }

// Copy replaces the copy before it. The next PutBack takes a copy of it, so it can be put back
// again.
func (m *memory) Copy() error {
	m.copy = m.now.Copy()
	return nil
}

// PutBack makes the next Open say that the journal is an older one, as the store does.
func (m *memory) PutBack() error {
	if m.copy != nil {
		m.now, m.notices = m.copy.Copy(), []string{older}
	}
	return nil
}

// Lose makes the next Open say that the journal is empty, as the store does.
func (m *memory) Lose() error {
	m.now, m.notices = new(journal.Memory), []string{emptied}
	return nil
}
