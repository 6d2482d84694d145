package store

import (
	"context"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

const (
	replaceSegment = `INSERT OR REPLACE INTO segments (` + segmentColumns + `)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	selectSegmentSum = `SELECT sum FROM segments WHERE token = ? AND restarts = ?`
	selectSegments   = `SELECT ` + segmentColumns + ` FROM segments WHERE token = ? ORDER BY restarts`
)

// SaveSegments inserts or replaces segments by token and restarts, all or none. The record of the
// job is not required, but Prune deletes only segments of jobs that have one.
func (s *Store) SaveSegments(ctx context.Context, segments []journal.Segment) error {
	return s.write(ctx, "save history", func(c *change) error {
		for _, g := range segments {
			g = journal.NormalSegment(g)
			values := []any{g.Token, g.Restarts, g.Incarnation, placed(g.Place),
				nanos(g.Started), nanos(g.Ended), g.DoneFrom, g.DoneTo, g.Seconds, reason.Encode(g.Cause),
				g.Price.Save, g.Price.Drain, g.Price.Start, g.Price.Load, g.Price.Measured}
			if err := c.put("segments", replaceSegment, values, selectSegmentSum, g.Token, g.Restarts); err != nil {
				return err
			}
		}
		return nil
	})
}

// Segments returns the job's segments in order of restarts; none for an unknown job. The last one
// has no end while it runs.
func (s *Store) Segments(ctx context.Context, token string) ([]journal.Segment, error) {
	var out []journal.Segment
	err := s.rows(ctx, "read history", "segments", selectSegments, func(r row) error {
		var g journal.Segment
		err := r.Scan(&g.Token, &g.Restarts, &g.Incarnation, document{&g.Place}, instant{&g.Started}, instant{&g.Ended},
			&g.DoneFrom, &g.DoneTo, &g.Seconds, because{&g.Cause},
			&g.Price.Save, &g.Price.Drain, &g.Price.Start, &g.Price.Load, &g.Price.Measured)
		out = append(out, g)
		return err
	}, token)
	if err != nil {
		return nil, err
	}
	return out, nil
}
