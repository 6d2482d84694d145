package main

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/store"
)

// A clock that is a year ahead, when sluiced starts or later, drops no history: what is 90
// days old is counted from the newest job in the store and the time that sluiced runs.
func TestClockAheadDropsNoHistory(t *testing.T) {
	const day = 24 * time.Hour
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	path := t.TempDir() + "/state/sluice.db"
	s, _, err := store.Open(t.Context(), path, noon)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown()
	if at, err := s.Newest(t.Context()); err != nil || !at.IsZero() {
		t.Errorf("the newest job of an empty store is of %v (%v)", at, err)
	}
	old := journal.JobRecord{Token: "a", Identity: journal.Identity{ID: 1}, Life: journal.Life{Submitted: noon.Add(-95 * day), Ended: noon.Add(-94 * day)}}
	young := journal.JobRecord{Token: "b", Identity: journal.Identity{ID: 2}, Life: journal.Life{Submitted: noon.Add(-60 * day), Ended: noon.Add(-2 * day)}}
	live := journal.JobRecord{Token: "c", Identity: journal.Identity{ID: 3}, Life: journal.Life{Submitted: noon.Add(-day)}}
	if err := s.SaveJobs(t.Context(), []journal.JobRecord{old, young, live}); err != nil {
		t.Fatal(err)
	}
	newest, err := s.Newest(t.Context())
	if err != nil || !newest.Equal(live.Submitted) {
		t.Errorf("the newest job is of %v, want %v (%v)", newest, live.Submitted, err)
	}
	for _, c := range []struct {
		name        string
		now, newest time.Time
		up          time.Duration
		want        time.Time
	}{
		{"right", noon, noon, 0, noon.Add(-90 * day)},
		{"a year ahead at the start", noon.Add(365 * day), newest, 0, newest.Add(-90 * day)},
		{"a year ahead after two days", noon.Add(367 * day), newest, 2 * day, newest.Add(-88 * day)},
		{"set back", noon.Add(-30 * day), newest, 0, noon.Add(-120 * day)},
		{"an empty store", noon, time.Time{}, 5 * day, noon.Add(-90 * day)},
	} {
		if got := oldest(c.now, c.newest, c.up); !got.Equal(c.want) {
			t.Errorf("%s: history is kept from %v on, want %v", c.name, got, c.want)
		}
	}
	if err := s.Prune(t.Context(), oldest(noon.Add(365*day), newest, 0)); err != nil {
		t.Fatal(err)
	}
	if left, err := s.Jobs(t.Context(), time.Time{}); err != nil || len(left) != 2 {
		t.Errorf("%d jobs are left, want the young one and the live one (%v)", len(left), err)
	}
}
