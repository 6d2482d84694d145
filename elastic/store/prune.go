package store

import (
	"context"
	"time"
)

const (
	pruneSegments = `DELETE FROM segments WHERE token IN (SELECT token FROM jobs WHERE ended < ?) RETURNING sum`
	pruneJobs     = `DELETE FROM jobs WHERE ended < ? RETURNING sum`
	pruneIntents  = `DELETE FROM intents WHERE outcome IS NOT NULL AND closed_at < ? RETURNING sum`

	pruneAnswers = `DELETE FROM answers WHERE at < ? RETURNING sum`

	// By way of the index alone, which is read whole: Prune is called once a day.
	pruneSamples = `DELETE FROM samples WHERE model IN (SELECT model FROM samples GROUP BY model HAVING max(at) < ?) RETURNING sum`
)

// Prune forgets jobs that ended before the time, their histories, moves that were
// closed before it, and the speeds and answers of models and scripts of which nothing was
// heard since. A job
// without a model has one of its own, so that every job leaves one behind.
func (s *Store) Prune(ctx context.Context, before time.Time) error {
	return s.write(ctx, "prune", func(c *change) error {
		for _, p := range []struct{ of, text string }{
			{"segments", pruneSegments}, {"jobs", pruneJobs}, {"intents", pruneIntents}, {"samples", pruneSamples}, {"answers", pruneAnswers},
		} {
			if err := c.forget(p.of, p.text, nanos(before)); err != nil {
				return err
			}
		}
		return nil
	})
}
