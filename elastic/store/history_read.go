package store

import (
	"context"
	"math"
	"time"

	"github.com/sluice-hpc/sluice/elastic/past"
)

const (
	entryColumns  = `id, kind, at, job, uid, user, body`
	pageOfEntries = `SELECT ` + entryColumns + ` FROM entries WHERE kind = ? AND (at, id) > (?, ?) AND at < ? ORDER BY at, id LIMIT ?`
	pageOfJob     = `SELECT ` + entryColumns + ` FROM entries WHERE kind = ? AND job = ? AND (at, id) > (?, ?) AND at < ? ORDER BY at, id LIMIT ?`
	pageOfSamples = `SELECT at, seconds, body FROM samples WHERE kind = ? AND at > ? AND at < ? ORDER BY at LIMIT ?`
)

// Entries returns the next entries of a query, in order of time, then id.
//
// It returns at most q.Most of those from q.From, included, to q.To, excluded, of the job q.Job (0
// = of all). Fewer than q.Most mean that there are no more. For the next page the caller sets
// AfterAt and AfterID to the time and the ID of the last entry: entries of one time are told apart
// by their IDs. Both bounds MUST be times that nanoseconds since 1970 can represent (1678 to 2261);
// the zero time is not.
func (h *History) Entries(ctx context.Context, q past.Query) (out []past.Entry, err error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	at, id := q.From.UnixNano(), int64(math.MinInt64)
	if !q.AfterAt.IsZero() {
		at, id = q.AfterAt.UnixNano(), q.AfterID
	}
	query, args := pageOfEntries, []any{q.Kind, at, id, q.To.UnixNano(), q.Most}
	if q.Job != 0 {
		query, args = pageOfJob, []any{q.Kind, q.Job, at, id, q.To.UnixNano(), q.Most}
	}
	rows, err := h.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, h.explain("read history", err)
	}
	defer rows.Close()
	for rows.Next() {
		var e past.Entry
		var at int64
		if err := rows.Scan(&e.ID, &e.Kind, &at, &e.Job, &e.UID, &e.User, &e.Body); err != nil {
			return nil, h.explain("read history", err)
		}
		e.At = time.Unix(0, at).UTC()
		out = append(out, e)
	}
	return out, h.explain("read history", rows.Err())
}

// Samples returns the next samples of a query, in order of time.
//
// The bounds are those of Entries. There is one sample of a kind at a time, so that AfterAt alone
// says where the next page begins; Job and AfterID are ignored, since samples are of the whole
// cluster.
func (h *History) Samples(ctx context.Context, q past.Query) (out []past.Sample, err error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	at := q.From.UnixNano() - 1
	if !q.AfterAt.IsZero() {
		at = q.AfterAt.UnixNano()
	}
	rows, err := h.db.QueryContext(ctx, pageOfSamples, q.Kind, at, q.To.UnixNano(), q.Most)
	if err != nil {
		return nil, h.explain("read history", err)
	}
	defer rows.Close()
	for rows.Next() {
		s := past.Sample{Kind: q.Kind}
		var at int64
		var body []byte
		err := rows.Scan(&at, &s.Seconds, &body)
		if err == nil {
			s.Body, err = unpacked(body)
		}
		if err != nil {
			return nil, h.explain("read history", err)
		}
		s.At = time.Unix(0, at).UTC()
		out = append(out, s)
	}
	return out, h.explain("read history", rows.Err())
}

const (
	// The first sample of each bucket stands for it: one is dropped if there is another before
	// it in the same bucket. With buckets of 10 min, samples at 12:00:30, 12:01:30 and 12:10:30
	// leave those at 12:00:30 and 12:10:30.
	thinSamples = `DELETE FROM samples WHERE at < ?1 AND EXISTS
		(SELECT 1 FROM samples AS first WHERE first.kind = samples.kind AND first.at < samples.at AND first.at >= samples.at - samples.at % ?2)`
	// A sample that is left stands for its whole bucket from then on.
	widen = `UPDATE samples SET seconds = ?2 WHERE at < ?1 AND seconds < ?2`

	pruneOldSamples = `DELETE FROM samples WHERE at < ?`
	pruneOldEntries = `DELETE FROM entries WHERE kind = ? AND at < ?`
	// Ids ascend in the order of Add, so that no count of the rows is needed.
	pruneMost = `DELETE FROM entries WHERE id <= (SELECT max(id) FROM entries) - ?`
)

// Thin drops what is older than past.Keep, thins samples as past.Thinnings says, and bounds the number of
// entries. now MUST be at most the time that has passed: a clock that is ahead would drop everything.
//
// A second call with the same time changes nothing if nothing was added. It is one transaction over
// all samples: the caller MUST call it rarely (offcycle.History: once an hour), and outside the
// cycle.
func (h *History) Thin(ctx context.Context, now time.Time) error {
	h.mu.RLock()
	defer h.mu.RUnlock()
	tx, err := h.db.BeginTx(ctx, nil)
	if err != nil {
		return h.explain("thin history", err)
	}
	defer tx.Rollback() // after Commit it does nothing
	do := func(query string, args ...any) {
		if err == nil {
			_, err = tx.ExecContext(ctx, query, args...)
		}
	}
	before := now.Add(-past.Keep).UnixNano()
	do(pruneOldSamples, before)
	do(pruneOldEntries, past.Decisions, before)
	do(pruneOldEntries, past.Moves, before)
	do(pruneMost, past.MostEntries)
	for _, t := range past.Thinnings {
		limit := now.Add(-t.Age)
		limit = limit.Truncate(t.Every) // a bucket is thinned as a whole
		do(thinSamples, limit.UnixNano(), int64(t.Every))
		do(widen, limit.UnixNano(), t.Every.Seconds())
	}
	if err != nil {
		return h.explain("thin history", err)
	}
	return h.explain("thin history", tx.Commit())
}
