package store

import (
	"context"
	"database/sql"
	"time"
)

const (
	pruneSegments = `DELETE FROM segments WHERE token IN (SELECT token FROM jobs WHERE ended < ?)`
	pruneJobs     = `DELETE FROM jobs WHERE ended < ?`
	pruneIntents  = `DELETE FROM intents WHERE outcome IS NOT NULL AND closed_at < ?`
)

// Prune forgets jobs that ended before the time, their histories, and moves that
// were closed before it. Speeds stay: they are bounded by themselves.
func (s *Store) Prune(ctx context.Context, before time.Time) error {
	return s.write(ctx, "prune", func(tx *sql.Tx) error {
		for _, statement := range []string{pruneSegments, pruneJobs, pruneIntents} {
			if _, err := tx.ExecContext(ctx, statement, nanos(before)); err != nil {
				return err
			}
		}
		return nil
	})
}
