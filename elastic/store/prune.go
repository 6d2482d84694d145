package store

import (
	"context"
	"time"
)

const (
	pruneSegments = `DELETE FROM segments WHERE token IN (SELECT token FROM jobs WHERE ended < ?) RETURNING sum`
	pruneJobs     = `DELETE FROM jobs WHERE ended < ? RETURNING sum`
	pruneIntents  = `DELETE FROM intents WHERE outcome IS NOT NULL AND closed_at < ? RETURNING sum`
)

// Prune forgets jobs that ended before the time, their histories, and moves that
// were closed before it. Speeds stay: they are bounded by themselves.
func (s *Store) Prune(ctx context.Context, before time.Time) error {
	return s.write(ctx, "prune", func(c *change) error {
		for _, p := range []struct{ of, text string }{
			{"segments", pruneSegments}, {"jobs", pruneJobs}, {"intents", pruneIntents},
		} {
			if err := c.forget(p.of, p.text, nanos(before)); err != nil {
				return err
			}
		}
		return nil
	})
}
