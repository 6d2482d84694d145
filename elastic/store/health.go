package store

import (
	"context"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
)

const (
	deleteComplaint = `DELETE FROM complaints WHERE node = ? AND gpu = ? AND uid = ? RETURNING sum`

	replaceComplaint = `INSERT OR REPLACE INTO complaints (` + complaintColumns + `)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	selectComplaintSum  = `SELECT sum FROM complaints WHERE node = ? AND gpu = ? AND uid = ?`
	selectComplaintSums = `SELECT node, gpu, uid, sum FROM complaints`
	selectComplaints    = `SELECT ` + complaintColumns + ` FROM complaints ORDER BY node, gpu, uid`
)

// SaveHealth replaces the complaints about the GPUs of nodes, all or nothing. Unchanged ones
// are not written again: few of many change at a time.
//
// An empty list removes all of them. Whether a complaint has changed is seen by its sum, without
// comparing values. It costs one read of all stored sums, and one write for each complaint that is
// new, changed or gone.
func (s *Store) SaveHealth(ctx context.Context, h elastic.Health) error {
	return s.write(ctx, "save the health of GPUs", func(c *change) error {
		// Begins with all that are stored; those left at the end are no longer in h.
		gone, err := c.complaints()
		if err != nil {
			return err
		}
		for _, x := range journal.NormalHealth(h) {
			key := complaintKey{x.Node, x.GPU, x.UID}
			values := []any{x.Node, x.GPU, x.UID, x.Label, x.Job, x.User, x.Unfit, nanos(x.First), nanos(x.Last), x.Muted, x.Confirmed}
			sum, err := rowSum("complaints", values)
			if err != nil {
				return err
			}
			if old, there := gone[key]; !there || old != sum {
				err = c.put("complaints", replaceComplaint, values, selectComplaintSum, x.Node, x.GPU, x.UID)
			}
			if err != nil {
				return err
			}
			delete(gone, key)
		}
		for key := range gone {
			if err := c.forget("complaints", deleteComplaint, key.node, key.gpu, key.uid); err != nil {
				return err
			}
		}
		return nil
	})
}

// complaintKey is the primary key of a complaint: one user has at most one about a GPU.
type complaintKey struct {
	node, gpu string
	uid       uint32
}

// complaints returns the sum of every stored complaint.
func (c *change) complaints() (map[complaintKey]int64, error) {
	rows, err := c.tx.QueryContext(c.ctx, selectComplaintSums)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[complaintKey]int64{}
	for rows.Next() {
		var key complaintKey
		var sum int64
		if err := rows.Scan(&key.node, &key.gpu, &key.uid, &sum); err != nil {
			return nil, err
		}
		out[key] = sum
	}
	return out, rows.Err()
}

// Health returns what SaveHealth stored last, in order of node, GPU and user. It returns nil if
// there are none.
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
