package store

import (
	"context"
	"database/sql"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
)

const (
	forgetComplaints = `DELETE FROM complaints`

	replaceComplaint = `INSERT OR REPLACE INTO complaints (node, gpu, uid, label, job, user, unfit, first, last, muted, confirmed)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	selectComplaints = `SELECT node, gpu, uid, label, job, user, unfit, first, last, muted, confirmed
		FROM complaints ORDER BY node, gpu, uid`
)

// SaveHealth replaces what is said against the GPUs of nodes, all or nothing.
func (s *Store) SaveHealth(ctx context.Context, h elastic.Health) error {
	return s.write(ctx, "save the health of GPUs", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, forgetComplaints); err != nil {
			return err
		}
		for _, c := range engine.NormalHealth(h) {
			if _, err := tx.ExecContext(ctx, replaceComplaint, c.Node, c.GPU, c.UID, c.Label, c.Job, c.User, c.Unfit,
				nanos(c.First), nanos(c.Last), c.Muted, c.Confirmed); err != nil {
				return err
			}
		}
		return nil
	})
}

// Health returns what SaveHealth was given, in order of node, GPU and user.
func (s *Store) Health(ctx context.Context) (elastic.Health, error) {
	var out elastic.Health
	err := s.rows(ctx, "read the health of GPUs", selectComplaints, func(rows *sql.Rows) error {
		var c elastic.Complaint
		err := rows.Scan(&c.Node, &c.GPU, &c.UID, &c.Label, &c.Job, &c.User, &c.Unfit,
			instant{&c.First}, instant{&c.Last}, &c.Muted, &c.Confirmed)
		out = append(out, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
