package store

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/store/contract"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// must opens a store, which has to give no notice.
func must(t *testing.T, path string) *Store {
	t.Helper()
	s, notices := reopen(t, path)
	if len(notices) > 0 {
		t.Errorf("notices %q", notices)
	}
	return s
}

// reopen opens a store and closes it with the test.
func reopen(t *testing.T, path string) (*Store, []string) {
	t.Helper()
	s, notices, err := Open(t.Context(), path, noon)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Shutdown() })
	return s, notices
}

func TestStoreKeepsTheContract(t *testing.T) {
	contract.Run(t, func(t *testing.T) contract.Subject {
		path := t.TempDir() + "/state/sluice.db"
		now := must(t, path)
		return contract.Subject{Both: now, Reopen: func() contract.Both {
			if err := now.Shutdown(); err != nil {
				t.Fatal(err)
			}
			now = must(t, path)
			return now
		}}
	})
}
