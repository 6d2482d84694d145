package store

import (
	"context"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
)

const (
	forgetComplaints = `DELETE FROM complaints RETURNING sum`

	replaceComplaint = `INSERT OR REPLACE INTO complaints (` + complaintColumns + `)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	selectComplaintSum = `SELECT sum FROM complaints WHERE node = ? AND gpu = ? AND uid = ?`
	selectComplaints   = `SELECT ` + complaintColumns + ` FROM complaints ORDER BY node, gpu, uid`
)

// SaveHealth replaces what is said against the GPUs of nodes, all or nothing.
func (s *Store) SaveHealth(ctx context.Context, h elastic.Health) error {
	return s.write(ctx, "save the health of GPUs", func(c *change) error {
		if err := c.forget("complaints", forgetComplaints); err != nil {
			return err
		}
		for _, x := range engine.NormalHealth(h) {
			values := []any{x.Node, x.GPU, x.UID, x.Label, x.Job, x.User, x.Unfit, nanos(x.First), nanos(x.Last), x.Muted, x.Confirmed}
			if err := c.put("complaints", replaceComplaint, values, selectComplaintSum, x.Node, x.GPU, x.UID); err != nil {
				return err
			}
		}
		return nil
	})
}

// Health returns what SaveHealth was given, in order of node, GPU and user.
func (s *Store) Health(ctx context.Context) (elastic.Health, error) {
	var out elastic.Health
	err := s.rows(ctx, "read the health of GPUs", "complaints", selectComplaints, func(r row) error {
		var c elastic.Complaint
		err := r.Scan(&c.Node, &c.GPU, &c.UID, &c.Label, &c.Job, &c.User, &c.Unfit,
			instant{&c.First}, instant{&c.Last}, &c.Muted, &c.Confirmed)
		out = append(out, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
