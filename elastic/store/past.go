package store

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
)

// pastPage is how many jobs are read in one call. There is one connection, so the daemon's writes
// wait for one call at most.
const pastPage = 200

const (
	livePage  = `SELECT ` + jobColumns + ` FROM jobs WHERE ended IS NULL AND token > ? ORDER BY token LIMIT ?`
	endedPage = `SELECT ` + jobColumns + ` FROM jobs WHERE (ended, token) > (?, ?) ORDER BY ended, token LIMIT ?`
)

// Past calls each with every job that has not ended, or ended at since or later, and with its runs
// in order of restarts. The runs of jobs for which wanted is false are not read. It reads in short
// calls, between which others write: a job that ends meanwhile is passed once, as it was before,
// and one that is adopted meanwhile may be missing. It stops at the first error of each and
// returns it unchanged.
//
// A zero since means all. wanted and each are called on the caller's goroutine and between two
// reads, so that they may take their time and may call the store. wanted MUST be cheap, since it is
// called for each record; the runs of a wanted job cost one more query. The tokens of live jobs are
// kept in memory meanwhile.
func (s *Store) Past(ctx context.Context, since time.Time, wanted func(journal.JobRecord) bool, each func(journal.JobRecord, []journal.Segment) error) error {
	pass := func(r journal.JobRecord) error {
		if !wanted(r) {
			return nil
		}
		runs, err := s.Segments(ctx, r.Token)
		if err != nil {
			return err
		}
		return each(r, runs)
	}
	live := map[string]bool{}
	err := s.pages(ctx, livePage, []any{""}, func(last journal.JobRecord) []any { return []any{last.Token} }, func(r journal.JobRecord) error {
		live[r.Token] = true
		return pass(r)
	})
	if err != nil {
		return err
	}
	first := int64(math.MinInt64)
	if !since.IsZero() {
		first = since.UnixNano()
	}
	return s.pages(ctx, endedPage, []any{first, ""}, func(last journal.JobRecord) []any { return []any{last.Ended.UnixNano(), last.Token} }, func(r journal.JobRecord) error {
		if live[r.Token] {
			return nil
		}
		return pass(r)
	})
}

// pages calls each with the jobs of a query, which it runs once a page. next returns the query's
// arguments for the page after a job; the limit is added to them. A page is read completely BEFORE
// each is called, which may therefore query the store. Pages continue after a key and not at a
// number of rows: rows that are deleted in between do not shift them.
func (s *Store) pages(ctx context.Context, query string, args []any, next func(journal.JobRecord) []any, each func(journal.JobRecord) error) error {
	for {
		var page []journal.JobRecord
		err := s.rows(ctx, "read past jobs", "jobs", query, func(row row) error {
			r, err := jobOf(row)
			page = append(page, r)
			return err
		}, append(args, pastPage)...)
		if err != nil {
			return err
		}
		for _, r := range page {
			if err := each(r); err != nil {
				return err
			}
		}
		if len(page) < pastPage {
			return nil
		}
		args = next(page[len(page)-1])
	}
}

// Page passes jobs in the order of Past, from the position at, which is zero at first: scan of them at
// most are looked at. It returns the position after the last one, and more if there may be others. Each may
// return journal.ErrPageFull, after which its job counts as passed and the page ends. A job that ends
// between two pages may be passed twice.
//
// since MUST be the same for all pages of one list, and scan MUST be positive, or no page makes
// progress. scan counts the jobs that wanted refuses too, and so bounds the time of a call. After
// an error next is no position to go on from.
func (s *Store) Page(ctx context.Context, since time.Time, at journal.Position, scan int, wanted func(journal.JobRecord) bool, each func(journal.JobRecord, []journal.Segment) error) (next journal.Position, more bool, err error) {
	if !at.Past {
		next, more, err = s.page(ctx, at, livePage, []any{at.Token}, &scan, wanted, each)
		if more || err != nil {
			return next, more, err
		}
		at = journal.Position{Past: true, Ended: since}
	}
	first := int64(math.MinInt64)
	if !at.Ended.IsZero() {
		first = at.Ended.UnixNano()
	}
	return s.page(ctx, at, endedPage, []any{first, at.Token}, &scan, wanted, each)
}

// page is Page for the jobs of one query; more is false if there are no others of it. If it looks
// at none, next is at. It takes the jobs that were looked at off scan, so that the second query
// continues with what the first has left.
func (s *Store) page(ctx context.Context, at journal.Position, query string, args []any, scan *int, wanted func(journal.JobRecord) bool, each func(journal.JobRecord, []journal.Segment) error) (next journal.Position, more bool, err error) {
	stop := errors.New("looked at enough")
	next = at
	err = s.pages(ctx, query, args, func(last journal.JobRecord) []any {
		if query == livePage {
			return []any{last.Token}
		}
		return []any{last.Ended.UnixNano(), last.Token}
	}, func(r journal.JobRecord) error {
		if *scan--; *scan < 0 {
			return stop
		}
		next = journal.Position{Past: query == endedPage, Ended: r.Ended, Token: r.Token}
		if !wanted(r) {
			return nil
		}
		runs, err := s.Segments(ctx, r.Token)
		if err != nil {
			return err
		}
		return each(r, runs)
	})
	if err == stop || errors.Is(err, journal.ErrPageFull) {
		return next, true, nil
	}
	return next, false, err
}
