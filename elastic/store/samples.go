package store

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/speed"
)

const (
	insertSample = `INSERT INTO samples (model, gpus, nodes, seconds, units, at) VALUES (?, ?, ?, ?, ?, ?)`

	// Those behind the newest ones of the model.
	forgetSamples = `DELETE FROM samples WHERE id IN
		(SELECT id FROM samples WHERE model = ? ORDER BY at DESC, id DESC LIMIT -1 OFFSET ?)`

	selectSamples = `SELECT gpus, nodes, seconds, units, at FROM samples WHERE model = ?
		ORDER BY at DESC, id DESC LIMIT ?`
)

// AddSamples appends samples and forgets what is older than the newest
// engine.MaxSamples of the model.
func (s *Store) AddSamples(ctx context.Context, model string, samples []speed.Sample) error {
	return s.write(ctx, "save speeds", func(tx *sql.Tx) error {
		for _, x := range samples {
			x = engine.NormalSample(x)
			if _, err := tx.ExecContext(ctx, insertSample, model, x.GPUs, x.Nodes, x.Seconds, x.Units, order(x.At)); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, forgetSamples, model, engine.MaxSamples)
		return err
	})
}

// Samples returns the newest samples of a model, oldest first, at most limit.
func (s *Store) Samples(ctx context.Context, model string, limit int) ([]speed.Sample, error) {
	var out []speed.Sample
	err := s.rows(ctx, "read speeds", selectSamples, func(rows *sql.Rows) error {
		var x speed.Sample
		var at int64
		err := rows.Scan(&x.GPUs, &x.Nodes, &x.Seconds, &x.Units, &at)
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

// unknownTime sorts before every time that nanoseconds can hold.
const unknownTime = -1 << 63

func order(t time.Time) int64 {
	if t.IsZero() {
		return unknownTime
	}
	return t.UnixNano()
}
