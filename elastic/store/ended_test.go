package store

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
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
	if err := s.Advance(ctx, ins[0]); !errors.Is(err, journal.ErrNoIntent) {
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

// The newest job is the last that was handed in, or that ended; there may be none. The
// moment is a time by which a clock that is far ahead is detected.
func TestNewest(t *testing.T) {
	ctx := t.Context()
	s := must(t, t.TempDir()+"/state/sluice.db")
	is := func(want time.Time) {
		t.Helper()
		if got, err := s.Newest(ctx); err != nil || !got.Equal(want) || got.IsZero() != want.IsZero() {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
	is(time.Time{})
	save := func(n elastic.JobID, submitted, ended time.Time) {
		t.Helper()
		r := contract.Job(string(rune('a'+n)), n)
		r.Submitted, r.Ended = submitted, ended
		if err := s.SaveJobs(ctx, []journal.JobRecord{r}); err != nil {
			t.Fatal(err)
		}
	}
	save(1, time.Time{}, time.Time{}) // adopted, and not yet asked about
	is(time.Time{})
	save(2, noon, time.Time{})
	is(noon)
	save(3, noon.Add(-time.Hour), noon.Add(time.Minute))
	is(noon.Add(time.Minute))
	save(4, noon.Add(time.Hour), time.Time{})
	is(noon.Add(time.Hour))
}
