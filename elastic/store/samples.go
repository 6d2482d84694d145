package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

const (
	insertSample = `INSERT INTO samples (` + sampleColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	// Samples beyond the newest ones of the model. LIMIT -1 is no limit; SQLite has no OFFSET
	// without LIMIT.
	forgetSamples = `DELETE FROM samples WHERE id IN
		(SELECT id FROM samples WHERE model = ? ORDER BY at DESC, id DESC LIMIT -1 OFFSET ?) RETURNING sum`

	anySample = `SELECT EXISTS (SELECT 1 FROM samples WHERE model = ?)`

	// Series of an owner beyond those with the newest samples. The names are found by one seek
	// each, whatever the number of their rows.
	forgetSeries = `WITH RECURSIVE series (model) AS (
			SELECT min(model) FROM samples WHERE model >= ?1 AND model < ?2
			UNION ALL
			SELECT (SELECT min(s.model) FROM samples s WHERE s.model > series.model AND s.model < ?2) FROM series WHERE series.model IS NOT NULL)
		DELETE FROM samples WHERE model IN
			(SELECT model FROM series WHERE model IS NOT NULL
				ORDER BY (SELECT max(at) FROM samples s WHERE s.model = series.model) DESC, model DESC LIMIT -1 OFFSET ?3) RETURNING sum`

	// Samples of jobs without a model.
	forgetOwn = `DELETE FROM samples WHERE model IN
		(SELECT 'job:' || token || unit FROM jobs, (SELECT '/epoch' AS unit UNION SELECT '/step' UNION SELECT '/pace')
			WHERE ended < ?) RETURNING sum`

	selectSamples = `SELECT ` + sampleColumns + ` FROM samples WHERE model = ? ORDER BY at DESC, id DESC LIMIT ?`
)

// AddSamples appends samples and deletes what is older than the newest journal.MaxSamples of the
// model, and the models of its owner beyond journal.MaxSeries. model is the key of a series
// (learn.Keys). Both bounds are by the samples' own times: one with an unknown time is the first to
// go. Series of single jobs (journal.Owner returns "") are not counted: ForgetOwn deletes them.
func (s *Store) AddSamples(ctx context.Context, model string, samples []speed.Sample) error {
	return s.write(ctx, "save speeds", func(c *change) error {
		t, err := c.tally("samples")
		if err != nil {
			return err
		}
		var known bool // a new sample of a known model adds no series: nothing to count
		if err := c.tx.QueryRowContext(ctx, anySample, model).Scan(&known); err != nil {
			return err
		}
		for _, x := range samples {
			x = journal.NormalSample(x)
			t.last++
			values := []any{t.last, model, x.GPUs, x.Nodes, x.Seconds, x.Units, order(x.At), x.Kind, x.Split, x.Beside}
			if err := c.put("samples", insertSample, values, ""); err != nil {
				return err
			}
		}
		if err := c.forget("samples", forgetSamples, model, journal.MaxSamples); err != nil {
			return err
		}
		owner := journal.Owner(model)
		if known || owner == "" {
			return nil
		}
		// "user:7/model:" ends with a colon, and ";" is the next character: all models of
		// the owner sort before "user:7/model;".
		behind := strings.TrimSuffix(owner, ":") + ";" // the first name that is not a model of this owner
		return c.forget("samples", forgetSeries, owner, behind, journal.MaxSeries)
	})
}

// ForgetOwn deletes the samples of jobs without a model that ended before the time: no other job
// learns from them. It finds them by the records of the jobs, so that it MUST be called with a
// later time than Prune: what Prune has deleted is not found.
func (s *Store) ForgetOwn(ctx context.Context, before time.Time) error {
	return s.write(ctx, "forget speeds of ended jobs", func(c *change) error {
		return c.forget("samples", forgetOwn, nanos(before))
	})
}

// Samples returns the newest samples of a model, oldest first, at most limit. It returns none for
// an unknown model, and for a limit of 0 or less.
func (s *Store) Samples(ctx context.Context, model string, limit int) ([]speed.Sample, error) {
	var out []speed.Sample
	err := s.rows(ctx, "read speeds", "samples", selectSamples, func(r row) error {
		var x speed.Sample
		var id, at int64
		err := r.Scan(&id, &model, &x.GPUs, &x.Nodes, &x.Seconds, &x.Units, &at, &x.Kind, &x.Split, &x.Beside)
		if at != unknownTime {
			x.At = time.Unix(0, at).UTC()
		}
		out = append(out, x)
		return err
	}, model, max(limit, 0))
	if err != nil {
		return nil, err
	}
	slices.Reverse(out)
	return out, nil
}

// unknownTime sorts before every time in nanoseconds.
const unknownTime = -1 << 63

// order returns a time for the column at, which has no NULL: samples are sorted by it, those with
// an unknown time first. Compare nanos.
func order(t time.Time) int64 {
	if t.IsZero() {
		return unknownTime
	}
	return t.UnixNano()
}
