package store

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
)

const (
	replaceJob = `INSERT OR REPLACE INTO jobs (` + jobColumns + `)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	selectJobSum = `SELECT sum FROM jobs WHERE token = ?`

	// Without a time (NULL) all jobs are selected. An unknown time of submission sorts first, as
	// the zero time does.
	selectJobs = `SELECT ` + jobColumns + ` FROM jobs WHERE ended IS NULL OR ? IS NULL OR ended > ? ORDER BY submitted, id, token`
)

// SaveJobs inserts or replaces records by token, all or none. A record is replaced as a whole. If
// one cannot be encoded (see encode), none is stored. The record of a job MUST be saved BEFORE its
// segments: Prune finds segments by the record.
func (s *Store) SaveJobs(ctx context.Context, records []journal.JobRecord) error {
	return s.write(ctx, "save jobs", func(c *change) error {
		for _, r := range records {
			values, err := jobValues(journal.NormalJob(r))
			if err != nil {
				return err
			}
			if err := c.put("jobs", replaceJob, values, selectJobSum, r.Token); err != nil {
				return err
			}
		}
		return nil
	})
}

// Jobs returns the records of jobs that have not ended or ended after since, in order of
// submission, then id. A zero since returns all that Prune has left. It reads them in one call and
// into memory: the caller is a daemon that starts. For reports use Past or Page.
func (s *Store) Jobs(ctx context.Context, since time.Time) ([]journal.JobRecord, error) {
	var out []journal.JobRecord
	err := s.rows(ctx, "read jobs", "jobs", selectJobs, func(row row) error {
		r, err := jobOf(row)
		out = append(out, r)
		return err
	}, nanos(since), nanos(since))
	if err != nil {
		return nil, err
	}
	return out, nil
}

// jobOf reads a record from a row with the columns of jobColumns, in their order.
func jobOf(row row) (r journal.JobRecord, err error) {
	err = row.Scan(&r.Token, &r.ID, &r.Name, &r.Owner.User, &r.Owner.UID, &r.Partition, document{&r.Tag},
		instant{&r.Submitted}, instant{&r.FirstRun}, instant{&r.Ended}, &r.State, document{&r.Place},
		&r.Restarts, &r.Speaks, &r.Deaf, &r.Done, &r.Offset, instant{&r.Moved},
		&r.Price.Save, &r.Price.Drain, &r.Price.Start, &r.Price.Load, &r.Price.Measured, &r.Promised, &r.Barred, document{&r.Ending}, named{&r.Account}, &r.SlurmUID)
	return r, err
}

// jobValues returns the columns of a record without the sum, in the order of jobColumns. A new
// column comes last in all three places, and before the sum: see before.
func jobValues(r journal.JobRecord) ([]any, error) {
	tag, err := encode(r.Tag)
	if err != nil {
		return nil, err
	}
	ending, err := encode(r.Ending)
	if err != nil {
		return nil, err
	}
	return []any{r.Token, r.ID, r.Name, r.Owner.User, r.Owner.UID, r.Partition, tag, nanos(r.Submitted), nanos(r.FirstRun),
		nanos(r.Ended), r.State, placed(r.Place), r.Restarts, r.Speaks, r.Deaf, r.Done, r.Offset, nanos(r.Moved),
		r.Price.Save, r.Price.Drain, r.Price.Start, r.Price.Load, r.Price.Measured, r.Promised, r.Barred, ending, accounted(r.Account), r.SlurmUID}, nil
}
