package store

import (
	"context"
	"database/sql"

	"github.com/sluice-hpc/sluice/elastic/engine"
)

const (
	replaceSegment = `INSERT OR REPLACE INTO segments (token, restarts, incarnation, place, started, ended,
		done_from, done_to, seconds, cause, save_ns, drain_ns, start_ns, load_ns, measured)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	selectSegments = `SELECT token, restarts, incarnation, place, started, ended,
		done_from, done_to, seconds, cause, save_ns, drain_ns, start_ns, load_ns, measured
		FROM segments WHERE token = ? ORDER BY restarts`
)

// SaveSegments inserts or replaces segments by token and restarts, all or none.
func (s *Store) SaveSegments(ctx context.Context, segments []engine.Segment) error {
	return s.write(ctx, "save history", func(tx *sql.Tx) error {
		for _, g := range segments {
			g = engine.NormalSegment(g)
			place, err := encode(g.Place)
			if err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, replaceSegment, g.Token, g.Restarts, g.Incarnation, place,
				nanos(g.Started), nanos(g.Ended), g.DoneFrom, g.DoneTo, g.Seconds, g.Cause,
				g.Price.Save, g.Price.Drain, g.Price.Start, g.Price.Load, g.Price.Measured); err != nil {
				return err
			}
		}
		return nil
	})
}

// Segments returns the job's segments in order of restarts; none for a job that
// is not known.
func (s *Store) Segments(ctx context.Context, token string) ([]engine.Segment, error) {
	var out []engine.Segment
	err := s.rows(ctx, "read history", selectSegments, func(rows *sql.Rows) error {
		var g engine.Segment
		err := rows.Scan(&g.Token, &g.Restarts, &g.Incarnation, document{&g.Place}, instant{&g.Started}, instant{&g.Ended},
			&g.DoneFrom, &g.DoneTo, &g.Seconds, &g.Cause,
			&g.Price.Save, &g.Price.Drain, &g.Price.Start, &g.Price.Load, &g.Price.Measured)
		out = append(out, g)
		return err
	}, token)
	if err != nil {
		return nil, err
	}
	return out, nil
}
