package store

import (
	"context"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/speed"
)

const (
	insertSample = `INSERT INTO samples (` + sampleColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	// Those behind the newest ones of the model.
	forgetSamples = `DELETE FROM samples WHERE id IN
		(SELECT id FROM samples WHERE model = ? ORDER BY at DESC, id DESC LIMIT -1 OFFSET ?) RETURNING sum`

	selectSamples = `SELECT ` + sampleColumns + ` FROM samples WHERE model = ? ORDER BY at DESC, id DESC LIMIT ?`
)

// AddSamples appends samples and forgets what is older than the newest
// engine.MaxSamples of the model.
func (s *Store) AddSamples(ctx context.Context, model string, samples []speed.Sample) error {
	return s.write(ctx, "save speeds", func(c *change) error {
		t, err := c.tally("samples")
		if err != nil {
			return err
		}
		for _, x := range samples {
			x = engine.NormalSample(x)
			t.last++
			values := []any{t.last, model, x.GPUs, x.Nodes, x.Seconds, x.Units, order(x.At), x.Kind, x.Split, x.Beside}
			if err := c.put("samples", insertSample, values, ""); err != nil {
				return err
			}
		}
		return c.forget("samples", forgetSamples, model, engine.MaxSamples)
	})
}

// Samples returns the newest samples of a model, oldest first, at most limit.
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

// unknownTime sorts before every time that nanoseconds can hold.
const unknownTime = -1 << 63

func order(t time.Time) int64 {
	if t.IsZero() {
		return unknownTime
	}
	return t.UnixNano()
}
