package store

import (
	"context"
	"database/sql"
	"time"
)

const (
	pruneSegments = `DELETE FROM segments WHERE token IN (SELECT token FROM jobs WHERE ended < ?) RETURNING sum`
	pruneJobs     = `DELETE FROM jobs WHERE ended < ? RETURNING sum`
	pruneIntents  = `DELETE FROM intents WHERE outcome IS NOT NULL AND closed_at < ? RETURNING sum`

	pruneAnswers = `DELETE FROM answers WHERE at < ? RETURNING sum`

	// Through the index only, which is read completely: Prune is called once a day.
	pruneSamples = `DELETE FROM samples WHERE model IN (SELECT model FROM samples GROUP BY model HAVING max(at) < ?) RETURNING sum`
)

// Prune deletes jobs that ended before the time, their histories, moves that were closed before
// it, and the samples and answers of models and scripts without news since. A job without a
// model has its own series, so that every job leaves one.
//
// Open moves, jobs that have not ended, complaints and credits are never deleted. A zero time
// deletes nothing. The time MUST NOT come from the system clock alone, which may be ahead: see
// Newest. It is one transaction, during which the cycle's writes wait: a daemon calls it once a
// day.
func (s *Store) Prune(ctx context.Context, before time.Time) error {
	return s.write(ctx, "prune", func(c *change) error {
		for _, p := range []struct{ of, text string }{ // segments BEFORE jobs: they are found by their jobs
			{"segments", pruneSegments}, {"jobs", pruneJobs}, {"intents", pruneIntents}, {"samples", pruneSamples}, {"answers", pruneAnswers},
		} {
			if err := c.forget(p.of, p.text, nanos(before)); err != nil {
				return err
			}
		}
		return nil
	})
}

const newest = `SELECT max(submitted), max(ended) FROM jobs`

// Newest returns when the newest job in the store was submitted or ended, zero if there is
// none. With it, a clock that is far ahead is distinguished from time that passed. Prune's
// caller needs that: with such a clock everything would look old. No sums are checked here.
func (s *Store) Newest(ctx context.Context) (time.Time, error) {
	var submitted, ended sql.NullInt64
	if err := s.db.QueryRowContext(ctx, newest).Scan(&submitted, &ended); err != nil {
		return time.Time{}, s.explain("read the newest job", err)
	}
	if last := max(submitted.Int64, ended.Int64); last > 0 {
		return time.Unix(0, last).UTC(), nil
	}
	return time.Time{}, nil
}
