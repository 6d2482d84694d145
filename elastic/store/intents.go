package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

const (
	insertIntent = `INSERT INTO intents (` + intentColumns + `)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	// Not INSERT OR REPLACE, which would close another move of the job.
	updateIntent = `UPDATE intents SET (` + intentColumns + `)
		= (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) WHERE id = ?1`

	selectIntent    = `SELECT ` + intentColumns + ` FROM intents WHERE id = ? AND job = ?`
	selectIntentSum = `SELECT sum FROM intents WHERE id = ?`
	selectWritten   = `SELECT ` + intentColumns + ` FROM intents WHERE step >= ?`
	selectOpen      = `SELECT ` + intentColumns + ` FROM intents WHERE outcome IS NULL ORDER BY id`
)

// Intend stores new intents, all or none, and gives them ascending IDs that are never reused. It
// returns journal.ErrIntentOpen if a job has an open intent already. The caller MUST go on with the
// intents that are returned, which have the IDs; ins is not changed. The IDs are counted in the
// tally, by which verify tells an ID that was never given.
func (s *Store) Intend(ctx context.Context, ins []elastic.Intent) ([]elastic.Intent, error) {
	out := make([]elastic.Intent, len(ins))
	err := s.write(ctx, "record a move", func(c *change) error {
		t, err := c.tally("intents")
		if err != nil {
			return err
		}
		for i, in := range ins {
			out[i] = journal.NormalIntent(in)
			t.last++
			out[i].ID = t.last
			err = c.put("intents", insertIntent, intentValues(out[i], nil), "")
			if constraint(err) {
				return fmt.Errorf("job %d: %w", in.Job, journal.ErrIntentOpen)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Advance replaces an open intent; it returns journal.ErrNoIntent if there is none. All values are
// replaced, so that in MUST be complete. A closed intent counts as none.
func (s *Store) Advance(ctx context.Context, in elastic.Intent) error {
	return s.write(ctx, "advance a move", func(c *change) error {
		there, closed, err := c.intent(in)
		if err != nil {
			return err
		}
		if !there || closed {
			return noIntent(in)
		}
		return c.putIntent(in, nil)
	})
}

// Close ends an intent, and keeps its last values and its outcome. Closing it again changes
// nothing. A second call, also one with another outcome, is no error and keeps the first one: a
// caller that does not know whether its first call was stored may repeat it. It returns
// journal.ErrNoIntent if no intent has that ID and job. (Shutdown closes the store.)
func (s *Store) Close(ctx context.Context, in elastic.Intent, how elastic.Outcome, why reason.Reason, at time.Time) error {
	return s.write(ctx, "close a move", func(c *change) error {
		there, closed, err := c.intent(in)
		switch {
		case err != nil || closed:
			return err
		case !there:
			return noIntent(in)
		}
		return c.putIntent(in, &ending{how, reason.Encode(why), nanos(at)})
	})
}

// intent reports whether an intent with that ID and job exists, and whether it is closed. Its row
// is checked against its sum BEFORE it is overwritten: a damaged one MUST NOT get a valid sum.
func (c *change) intent(in elastic.Intent) (there, closed bool, err error) {
	rows, err := c.tx.QueryContext(c.ctx, selectIntent, in.ID, in.Job)
	if err != nil {
		return false, false, err
	}
	defer rows.Close()
	if !rows.Next() {
		return false, false, rows.Err()
	}
	r, err := checked("intents", rows)
	if err != nil {
		return false, false, err
	}
	outcome := r.raw[len(r.raw)-3] // the last columns are outcome, why, closed_at; raw is without the sum
	return true, outcome != nil, nil
}

// putIntent replaces a stored intent. The caller MUST have checked that it exists: an UPDATE of no
// row would still be counted in the tally.
func (c *change) putIntent(in elastic.Intent, end *ending) error {
	return c.put("intents", updateIntent, intentValues(journal.NormalIntent(in), end), selectIntentSum, in.ID)
}

// Open returns the open intents in order of ID. It returns ErrNewer if one of them has a kind or a
// step that this program does not know. No move can be carried on then, and Open of the package
// fails with it too.
func (s *Store) Open(ctx context.Context) ([]elastic.Intent, error) {
	var out []elastic.Intent
	err := s.rows(ctx, "read open moves", "intents", selectOpen, func(r row) error {
		var in elastic.Intent
		err := r.Scan(&in.ID, &in.Job, &in.Kind, &in.Step, &in.To, document{&in.From}, document{&in.Target},
			&in.AnyNodes, &in.Restarts, &in.Request, &in.Checkpoint, because{&in.Cause}, &in.Fallbacks,
			instant{&in.Opened}, instant{&in.Moved}, instant{&in.AskedAt}, instant{&in.SavedAt},
			instant{&in.RequeuedAt}, instant{&in.PendingAt}, instant{&in.ReleasedAt})
		out = append(out, in)
		if err != nil {
			return err
		}
		return s.newer(in.Known())
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// newer returns the error for an open move that a newer sluice wrote; nil for nil. Treated as
// any known move, its next effect would be wrong.
func (s *Store) newer(err error) error {
	if err == nil {
		return nil
	}
	return &Error{Op: "read open moves", Path: s.path, Err: ErrNewer, Text: err.Error(),
		Hint: "install the newer sluice again, or let it run until no move is open ('sluice queue' shows none at RS), then stop it"}
}

// Written returns the highest incarnation that the moves of each job have written, open and closed
// ones. A move counts once its step elastic.Written is stored. Closed moves count until Prune
// deletes them. A caller MUST take the maximum of this and the job's record: a new incarnation has
// to be higher than both (I1).
func (s *Store) Written(ctx context.Context) (map[elastic.JobID]int, error) {
	out := map[elastic.JobID]int{}
	err := s.rows(ctx, "read written moves", "intents", selectWritten, func(r row) error {
		var in elastic.Intent
		err := r.Scan(&in.ID, &in.Job, &in.Kind, &in.Step, &in.To)
		out[in.Job] = max(out[in.Job], in.To)
		return err
	}, elastic.Written)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// ending is how a move ended; nil while it is open.
type ending struct {
	how elastic.Outcome
	why string
	at  sql.NullInt64
}

// intentValues returns an intent's columns without the sum. They are in the order of intentColumns,
// which is also that of the sum. end is nil while the move is open: outcome, why and closed_at are
// NULL then.
func intentValues(in elastic.Intent, end *ending) []any {
	var outcome, why, closed any // NULL while it is open
	if end != nil {
		outcome, why, closed = string(end.how), end.why, end.at
	}
	return []any{in.ID, in.Job, in.Kind, in.Step, in.To, placed(in.From), placed(in.Target), in.AnyNodes, in.Restarts, in.Request,
		in.Checkpoint, reason.Encode(in.Cause), in.Fallbacks, nanos(in.Opened), nanos(in.Moved), nanos(in.AskedAt),
		nanos(in.SavedAt), nanos(in.RequeuedAt), nanos(in.PendingAt), nanos(in.ReleasedAt),
		outcome, why, closed}
}

// noIntent returns the journal.ErrNoIntent of an intent, with its job for the log.
func noIntent(in elastic.Intent) error {
	return fmt.Errorf("job %d, intent %d: %w", in.Job, in.ID, journal.ErrNoIntent)
}
