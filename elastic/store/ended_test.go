package store

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/store/contract"
)

// A move that is closed stays closed, whatever call comes late, and its number is never reused,
// even after it was pruned.
func TestEndedMovesStayEnded(t *testing.T) {
	ctx := t.Context()
	s := must(t, t.TempDir()+"/state/sluice.db")
	ins, err := s.Intend(ctx, []elastic.Intent{contract.Intent(1), contract.Intent(2)})
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range ins {
		if err := s.Close(ctx, in, elastic.Done, reason.MoveOver, noon.Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Advance(ctx, ins[0]); !errors.Is(err, engine.ErrNoIntent) {
		t.Errorf("a late step of a closed move: %v", err)
	}
	if open, err := s.Open(ctx); err != nil || len(open) != 0 {
		t.Errorf("open again: %v, %v", open, err)
	}
	if err := s.Prune(ctx, noon); err != nil {
		t.Fatal(err)
	}
	next, err := s.Intend(ctx, []elastic.Intent{contract.Intent(3)})
	if err != nil || next[0].ID <= ins[1].ID {
		t.Errorf("after %d comes %v, %v", ins[1].ID, next, err)
	}
}

// The database is private to the daemon from the moment it exists.
func TestNewFileIsPrivate(t *testing.T) {
	path := t.TempDir() + "/sluice.db"
	if err := prepareFile(path); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode().Perm(), err)
	}
}
