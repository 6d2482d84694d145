package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
)

const (
	insertIntent = `INSERT INTO intents (job, kind, step, incarnation, placed, target, any_nodes, restarts, request,
		checkpoint, cause, fallbacks, opened, moved, asked_at, saved_at, requeued_at, pending_at, released_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	updateIntent = `UPDATE intents SET job = ?, kind = ?, step = ?, incarnation = ?, placed = ?, target = ?, any_nodes = ?,
		restarts = ?, request = ?, checkpoint = ?, cause = ?, fallbacks = ?, opened = ?, moved = ?, asked_at = ?,
		saved_at = ?, requeued_at = ?, pending_at = ?, released_at = ?
		WHERE outcome IS NULL AND id = ? AND job = ?`

	selectOpen = `SELECT id, job, kind, step, incarnation, placed, target, any_nodes, restarts, request,
		checkpoint, cause, fallbacks, opened, moved, asked_at, saved_at, requeued_at, pending_at, released_at
		FROM intents WHERE outcome IS NULL ORDER BY id`

	closeIntent = `UPDATE intents SET outcome = ?, why = ?, closed_at = ? WHERE id = ? AND job = ?`

	selectClosed = `SELECT outcome IS NOT NULL FROM intents WHERE id = ? AND job = ?`
)

// Intend stores new intents, all or none, and gives them ascending IDs that are
// never given again. engine.ErrIntentOpen when a job has an open one already.
func (s *Store) Intend(ctx context.Context, ins []elastic.Intent) ([]elastic.Intent, error) {
	out := make([]elastic.Intent, len(ins))
	err := s.write(ctx, "record a move", func(tx *sql.Tx) error {
		for i, in := range ins {
			out[i] = engine.NormalIntent(in)
			values, err := intentValues(out[i])
			if err != nil {
				return err
			}
			result, err := tx.ExecContext(ctx, insertIntent, values...)
			if constraint(err) {
				return fmt.Errorf("job %d: %w", in.Job, engine.ErrIntentOpen)
			}
			if err != nil {
				return err
			}
			if out[i].ID, err = result.LastInsertId(); err != nil {
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

// Advance replaces an open intent; engine.ErrNoIntent when there is none.
func (s *Store) Advance(ctx context.Context, in elastic.Intent) error {
	return s.write(ctx, "advance a move", func(tx *sql.Tx) error { return advance(ctx, tx, in) })
}

func advance(ctx context.Context, tx *sql.Tx, in elastic.Intent) error {
	values, err := intentValues(engine.NormalIntent(in))
	if err != nil {
		return err
	}
	result, err := tx.ExecContext(ctx, updateIntent, append(values, in.ID, in.Job)...)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, noIntent(in))
	}
	return nil
}

// Close ends an intent, keeping its last values and how it ended. Closing it
// again changes nothing.
func (s *Store) Close(ctx context.Context, in elastic.Intent, how elastic.Outcome, why string, at time.Time) error {
	return s.write(ctx, "close a move", func(tx *sql.Tx) error {
		var closed bool
		err := tx.QueryRowContext(ctx, selectClosed, in.ID, in.Job).Scan(&closed)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return noIntent(in)
		case err != nil || closed:
			return err
		}
		if err := advance(ctx, tx, in); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, closeIntent, how, why, nanos(at), in.ID, in.Job)
		return err
	})
}

// Open returns the open intents in order of ID.
func (s *Store) Open(ctx context.Context) ([]elastic.Intent, error) {
	var out []elastic.Intent
	err := s.rows(ctx, "read open moves", selectOpen, func(rows *sql.Rows) error {
		var in elastic.Intent
		err := rows.Scan(&in.ID, &in.Job, &in.Kind, &in.Step, &in.To, document{&in.From}, document{&in.Target},
			&in.AnyNodes, &in.Restarts, &in.Request, &in.Checkpoint, &in.Cause, &in.Fallbacks,
			instant{&in.Opened}, instant{&in.Moved}, instant{&in.AskedAt}, instant{&in.SavedAt},
			instant{&in.RequeuedAt}, instant{&in.PendingAt}, instant{&in.ReleasedAt})
		out = append(out, in)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// intentValues lists an intent's columns without its id, in the order that
// insertIntent and updateIntent share.
func intentValues(in elastic.Intent) ([]any, error) {
	from, err := encode(in.From)
	if err != nil {
		return nil, err
	}
	target, err := encode(in.Target)
	if err != nil {
		return nil, err
	}
	return []any{in.Job, in.Kind, in.Step, in.To, from, target, in.AnyNodes, in.Restarts, in.Request,
		in.Checkpoint, in.Cause, in.Fallbacks, nanos(in.Opened), nanos(in.Moved), nanos(in.AskedAt),
		nanos(in.SavedAt), nanos(in.RequeuedAt), nanos(in.PendingAt), nanos(in.ReleasedAt)}, nil
}

func noIntent(in elastic.Intent) error {
	return fmt.Errorf("job %d, intent %d: %w", in.Job, in.ID, engine.ErrNoIntent)
}
