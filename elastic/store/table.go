package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// columns lists a table's columns in the order in which they are summed, the sum last. A row is
// always read completely, so that it can be checked.
const (
	intentColumns = `id, job, kind, step, incarnation, placed, target, any_nodes, restarts, request,
		checkpoint, cause, fallbacks, opened, moved, asked_at, saved_at, requeued_at, pending_at, released_at,
		outcome, why, closed_at, sum`
	jobColumns = `token, id, name, user, uid, partition, tag, submitted, first_run, ended, state, place,
		restarts, speaks, deaf, done, read_to, moved, save_ns, drain_ns, start_ns, load_ns, measured, promised, barred, ending, account, slurm_uid, sum`
	segmentColumns = `token, restarts, incarnation, place, started, ended, done_from, done_to, seconds, cause,
		save_ns, drain_ns, start_ns, load_ns, measured, sum`
	sampleColumns    = `id, model, gpus, nodes, seconds, units, at, kind, split, beside, sum`
	complaintColumns = `node, gpu, uid, label, job, user, unfit, first, last, muted, confirmed, sum`
	answerColumns    = `uid, key, at, sum`
	creditColumns    = `account, user, seconds, at, sum`
)

// table is one of the tables whose rows are summed.
type table struct {
	name string
	text string // SELECT of all columns
	id   bool   // its first column is an id that is never reused
	sums string // UPDATE of one row's sum, by its key, which is the first columns
	keys int    // number of columns of its key
}

// tables are all tables of the newest schema, without that of the tallies.
var tables = []table{
	{"intents", `SELECT ` + intentColumns + ` FROM intents ORDER BY id`, true, `UPDATE intents SET sum = ? WHERE id = ?`, 1},
	{"jobs", `SELECT ` + jobColumns + ` FROM jobs ORDER BY token`, false, `UPDATE jobs SET sum = ? WHERE token = ?`, 1},
	{"segments", `SELECT ` + segmentColumns + ` FROM segments ORDER BY token, restarts`, false,
		`UPDATE segments SET sum = ? WHERE token = ? AND restarts = ?`, 2},
	{"samples", `SELECT ` + sampleColumns + ` FROM samples ORDER BY id`, true, `UPDATE samples SET sum = ? WHERE id = ?`, 1},
	{"answers", `SELECT ` + answerColumns + ` FROM answers ORDER BY uid, key`, false, `UPDATE answers SET sum = ? WHERE uid = ? AND key = ?`, 2},
	{"credits", `SELECT ` + creditColumns + ` FROM credits ORDER BY account, user`, false, `UPDATE credits SET sum = ? WHERE account = ? AND user = ?`, 2},
	{"complaints", `SELECT ` + complaintColumns + ` FROM complaints ORDER BY node, gpu, uid`, false,
		`UPDATE complaints SET sum = ? WHERE node = ? AND gpu = ? AND uid = ?`, 3},
}

// row is a row that was checked against its sum. It is never made of a row whose sum does not
// match.
type row struct {
	rows *sql.Rows
	raw  []any // all columns but the sum
	sum  int64
}

// checked reads the present row completely and compares it with its sum. A row that does not match
// is ErrCorrupt. The query MUST select all columns in the order of the sum, the sum last.
func checked(of string, rows *sql.Rows) (row, error) {
	names, err := rows.Columns()
	if err != nil {
		return row{}, err
	}
	raw := make([]any, len(names))
	into := make([]any, len(names))
	for i := range raw {
		into[i] = &raw[i]
	}
	if err := rows.Scan(into...); err != nil {
		return row{}, err
	}
	last := len(raw) - 1
	said, ok := raw[last].(int64)
	sum, err := rowSum(of, raw[:last])
	if err != nil || !ok || said != sum {
		return row{}, errors.Join(err, damaged(sortRows, "a row of %s does not match its sum", of))
	}
	return row{rows, raw[:last], sum}, nil
}

// Scan stores the row's first columns into its arguments and ignores the rest. It is valid until
// the query's next row.
func (r row) Scan(into ...any) error {
	rest := make([]any, len(r.raw)+1-len(into))
	for i := range rest {
		rest[i] = new(any)
	}
	return r.rows.Scan(append(into, rest...)...)
}

// asBefore returns the table as in the first schema with sums, whose columns were in the order
// in which they are summed.
func (t table) asBefore() table {
	_, rest, _ := strings.Cut(t.text, " FROM ")
	t.text = "SELECT * FROM " + rest
	return t
}

// without returns the table without these columns, which stand before the sum. A table that does
// not have them is returned as it is.
func (t table) without(columns string) table {
	t.text = strings.Replace(t.text, ", "+columns+", sum", ", sum", 1)
	return t
}

// verify reads every row and compares sums and tallies.
//
// Sums show a row that was changed. The tally shows what sums cannot: rows that are missing, of
// another time, or there twice; and the highest id shows a move that no daemon has opened. It reads
// the whole store, one row in memory at a time.
func verify(ctx context.Context, q asker, tables []table) error {
	for _, t := range tables {
		want, err := readTally(ctx, q, t.name)
		if err != nil {
			return err
		}
		got := tally{of: t.name, last: want.last}
		err = each(ctx, q, t, func(r row) error {
			got.add(r.sum)
			if id, ok := r.raw[0].(int64); t.id && (!ok || id > want.last) {
				return damaged(sortRows, "%s holds an id that was never given", t.name)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if got != *want {
			return damaged(sortRows, "%s holds %d rows where %d were counted, or others than those", t.name, got.n, want.n)
		}
	}
	return nil
}

// each calls do with every row of a table, AFTER its sum was checked.
func each(ctx context.Context, q asker, t table, do func(row) error) error {
	rows, err := q.QueryContext(ctx, t.text)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		r, err := checked(t.name, rows)
		if err == nil {
			err = do(r)
		}
		if err != nil {
			return err
		}
	}
	return rows.Err()
}

// seal gives the rows of tables new sums, or first ones, and counts them. first: the rows have no
// sums yet, so that the highest id is taken from them and, of moves, from SQLite's own sequence;
// else the highest id is that of the old tally, since the rows with it may be pruned. The caller
// MUST have verified rows that have sums.
func seal(ctx context.Context, tx *sql.Tx, tables []table, first bool) error {
	for _, t := range tables {
		all, err := readRaw(ctx, tx, t)
		if err != nil {
			return err
		}
		total := tally{of: t.name}
		if !first {
			before, err := readTally(ctx, tx, t.name)
			if err != nil {
				return err
			}
			total.last = before.last
		}
		for _, raw := range all {
			sum, err := rowSum(t.name, raw)
			if err != nil {
				return err
			}
			statement := t.sums
			if _, err := tx.ExecContext(ctx, statement, append([]any{sum}, raw[:t.keys]...)...); err != nil {
				return err
			}
			if id, ok := raw[0].(int64); t.id && ok {
				total.last = max(total.last, id)
			}
			total.add(sum)
		}
		if first && t.name == "intents" { // ids of moves that were pruned
			if err := tx.QueryRowContext(ctx, "SELECT max(?, ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'intents'), 0))",
				total.last).Scan(&total.last); err != nil {
				return err
			}
		}
		if err := writeTally(ctx, tx, &total); err != nil {
			return err
		}
	}
	if !first {
		return nil
	}
	return writeTally(ctx, tx, &tally{of: whole})
}

// readRaw reads all rows of a table without their sums. All are read BEFORE the first is updated:
// SQLite does not define whether an open query sees the rows that its own connection changes.
func readRaw(ctx context.Context, tx *sql.Tx, t table) ([][]any, error) {
	rows, err := tx.QueryContext(ctx, t.text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var all [][]any
	for rows.Next() {
		raw := make([]any, len(names))
		into := make([]any, len(names))
		for i := range raw {
			into[i] = &raw[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		all = append(all, raw[:len(raw)-1])
	}
	return all, rows.Err()
}
