package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/store/contract"
)

// Past passes every job once over several pages, many of them ended at the same moment, with its
// runs; what ended before is left out, and what is not wanted has its runs unread.
func TestPastPassesEveryJobOnce(t *testing.T) {
	s := must(t, filepath.Join(t.TempDir(), "state", "sluice.db"))
	var all []journal.JobRecord
	var want []string
	for n := range 3*pastPage + 7 {
		r := contract.Job(fmt.Sprintf("t%04d", n), elastic.JobID(n+1))
		switch n % 3 {
		case 1:
			r.Ended = noon // exactly at the time
		case 2:
			r.Ended = noon.Add(time.Duration(n/500) * time.Hour)
		}
		if n < 3 { // before it
			r.Ended = noon.Add(-1)
		} else {
			want = append(want, r.Token)
		}
		all = append(all, r)
	}
	run := journal.Segment{Token: "t0003", Started: noon, DoneTo: 1}
	if err := errors.Join(s.SaveJobs(never, all), s.SaveSegments(never, []journal.Segment{run})); err != nil {
		t.Fatal(err)
	}
	yes := func(journal.JobRecord) bool { return true }
	var got []string
	runs := 0
	err := s.Past(never, noon, yes, func(r journal.JobRecord, of []journal.Segment) error {
		got = append(got, r.Token)
		if runs += len(of); len(of) > 0 && (r.Token != "t0003" || of[0].DoneTo != 1) {
			t.Errorf("%s has %+v", r.Token, of)
		}
		return nil
	})
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) || runs != 1 {
		t.Errorf("%v: %d jobs of %d, %d runs", err, len(got), len(want), runs)
	}

	got = nil
	err = s.Past(never, time.Time{}, func(r journal.JobRecord) bool { return strings.HasSuffix(r.Token, "7") }, func(r journal.JobRecord, _ []journal.Segment) error {
		got = append(got, r.Token)
		return nil
	})
	if err != nil || len(got) != 60 {
		t.Errorf("%v: %d jobs end in 7", err, len(got))
	}
	stop := errors.New("enough")
	if err := s.Past(never, noon, yes, func(journal.JobRecord, []journal.Segment) error { return stop }); err != stop {
		t.Errorf("stopped with %v", err)
	}
}

// Page passes the same jobs in the same order in pages, however small: of jobs that are looked at, or of jobs
// that are wanted.
func TestPagesOfPast(t *testing.T) {
	s := must(t, filepath.Join(t.TempDir(), "state", "sluice.db"))
	var all []journal.JobRecord
	for n := range 60 {
		r := contract.Job(fmt.Sprintf("t%04d", n), elastic.JobID(n+1))
		if n%3 > 0 {
			r.Ended = noon.Add(time.Duration(n%7) * time.Hour)
		}
		all = append(all, r)
	}
	if err := s.SaveJobs(never, all); err != nil {
		t.Fatal(err)
	}
	var want []string
	even := func(r journal.JobRecord) bool { return r.ID%2 == 0 }
	since := noon.Add(time.Hour)
	if err := s.Past(never, since, even, func(r journal.JobRecord, _ []journal.Segment) error { want = append(want, r.Token); return nil }); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ scan, rows int }{{1000, 1000}, {1, 1000}, {7, 1000}, {1000, 1}, {5, 2}} {
		var got []string
		var at journal.Position
		for pages := 0; ; pages++ {
			rows := 0
			next, more, err := s.Page(never, since, at, c.scan, even, func(r journal.JobRecord, _ []journal.Segment) error {
				got = append(got, r.Token)
				if rows++; rows == c.rows {
					return journal.ErrPageFull
				}
				return nil
			})
			if err != nil || pages > 200 {
				t.Fatalf("%+v: page %d: %v", c, pages, err)
			}
			if !more {
				break
			}
			at = next
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: %d jobs, want %d: %q", c, len(got), len(want), got)
		}
	}
}

// A job that ends while it is read is passed once; writes go on in between.
func TestPastWhileJobsEnd(t *testing.T) {
	s := must(t, filepath.Join(t.TempDir(), "state", "sluice.db"))
	job := contract.Job("a", 1)
	if err := s.SaveJobs(never, []journal.JobRecord{job}); err != nil {
		t.Fatal(err)
	}
	seen := 0
	err := s.Past(never, noon, func(journal.JobRecord) bool { return true }, func(r journal.JobRecord, _ []journal.Segment) error {
		seen++
		r.Ended = noon.Add(time.Hour)
		return s.SaveJobs(never, []journal.JobRecord{r})
	})
	if err != nil || seen != 1 {
		t.Errorf("%v: passed %d times", err, seen)
	}
}

// Both pages are found by an index: a report of one day does not read the jobs of three months.
func TestPastUsesAnIndex(t *testing.T) {
	s := must(t, filepath.Join(t.TempDir(), "state", "sluice.db"))
	for query, args := range map[string][]any{livePage: {"", 1}, endedPage: {1, "", 1}} {
		rows, err := s.db.QueryContext(never, "EXPLAIN QUERY PLAN "+query, args...)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil || !strings.Contains(detail, "SEARCH jobs USING INDEX jobs_ended") {
				t.Errorf("%s: %q, %v", query, detail, err)
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Error(err)
		}
	}
}
