package store

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/store/contract"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func must(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(t.Context(), dir, noon)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Shutdown() })
	return s
}

func TestStoreKeepsTheContract(t *testing.T) {
	contract.Run(t, func(t *testing.T) contract.Subject {
		dir := t.TempDir() + "/state"
		now := must(t, dir)
		return contract.Subject{Both: now, Reopen: func() contract.Both {
			if err := now.Shutdown(); err != nil {
				t.Fatal(err)
			}
			now = must(t, dir)
			return now
		}}
	})
}
