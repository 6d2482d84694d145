package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// tally sums up the rows of one table. A row that vanished, came back or was duplicated by
// damage changes it, although every row by itself is valid.
//
// XOR makes both directions one operation, whose cost does not depend on the size of the table. Two
// equal rows would cancel out, but every table has a key, and n counts them.
type tally struct {
	of   string
	n    int64 // number of rows; of whole: how often the store was opened
	mix  int64 // XOR of their sums: independent of order, and updated from the changed rows alone
	last int64 // highest id ever given; of whole: the schema
}

// whole is the tally of the store itself.
const whole = "store"

const (
	selectTally  = `SELECT of, n, mix, last, sum FROM tally WHERE of = ?`
	replaceTally = `INSERT OR REPLACE INTO tally (of, n, mix, last, sum) VALUES (?, ?, ?, ?, ?)`
)

// add counts a row that is inserted, drop one that is deleted; a replaced row is both. drop MUST be
// given a sum that was added, which is why it is always read from the table.
func (t *tally) add(sum int64)  { t.n++; t.mix ^= sum }
func (t *tally) drop(sum int64) { t.n--; t.mix ^= sum }

// asker is a database or a transaction. Checks use either: at a start the database, in a migration
// its transaction.
type asker interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// readTally reads a tally and checks its own sum; it MUST exist. A missing one is ErrCorrupt: each
// table has one from its migration on. The caller owns it.
func readTally(ctx context.Context, q asker, of string) (*tally, error) {
	t := tally{}
	var said int64
	err := q.QueryRowContext(ctx, selectTally, of).Scan(&t.of, &t.n, &t.mix, &t.last, &said)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, damaged(sortRows, "the tally of %s is gone", of)
	}
	if err != nil {
		return nil, err
	}
	if sum, err := rowSum("tally", t.values()); err != nil || sum != said || t.of != of {
		return nil, errors.Join(err, damaged(sortRows, "the tally of %s does not match its sum", of))
	}
	return &t, nil
}

// writeTally stores a tally with its own sum, in place of the one before.
func writeTally(ctx context.Context, q asker, t *tally) error {
	sum, err := rowSum("tally", t.values())
	if err != nil {
		return err
	}
	_, err = q.ExecContext(ctx, replaceTally, append(t.values(), sum)...)
	return err
}

// values returns the columns of the tally without its sum, in order.
func (t *tally) values() []any { return []any{t.of, t.n, t.mix, t.last} }

// change is one transaction with the tallies it touches. They are read once, changed in memory by
// put and forget, and written by settle at the end, in the same transaction: so on the disk each
// tally always matches its table. It ends with its transaction, and is for one goroutine.
type change struct {
	ctx     context.Context
	tx      *sql.Tx
	tallies map[string]*tally
}

// tally returns the table's tally, to be changed in place.
func (c *change) tally(of string) (*tally, error) {
	if t := c.tallies[of]; t != nil {
		return t, nil
	}
	t, err := readTally(c.ctx, c.tx, of)
	if err == nil {
		c.tallies[of] = t
	}
	return t, err
}

// put runs a statement that inserts or replaces one row of values, in the order of the table's
// columns, and the row's sum. old is the query for the sum of the replaced row, by key; "" if there
// can be none. It runs BEFORE the statement, which overwrites that sum. The statement's last
// parameter MUST be the sum.
func (c *change) put(of, statement string, values []any, old string, key ...any) error {
	t, err := c.tally(of)
	if err != nil {
		return err
	}
	sum, err := rowSum(of, values)
	if err != nil {
		return err
	}
	if old != "" {
		if err := c.drop(t, old, key...); err != nil {
			return err
		}
	}
	if _, err := c.tx.ExecContext(c.ctx, statement, append(values, sum)...); err != nil {
		return err
	}
	t.add(sum)
	return nil
}

// drop removes the sums that a query returns from the tally.
func (c *change) drop(t *tally, query string, key ...any) error {
	rows, err := c.tx.QueryContext(c.ctx, query, key...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var sum int64
		if err := rows.Scan(&sum); err != nil {
			return err
		}
		t.drop(sum)
	}
	return rows.Err()
}

// forget runs a statement that deletes rows and returns their sums ("RETURNING sum"). Every DELETE
// from a table with a tally returns its sums, for this reason. Deleting none is no error.
func (c *change) forget(of, statement string, args ...any) error {
	t, err := c.tally(of)
	if err != nil {
		return err
	}
	return c.drop(t, statement, args...)
}

// settle writes the changed tallies. It MUST be the last step before the commit. A table that was
// only looked at is written back as it was.
func (c *change) settle() error {
	for _, t := range c.tallies {
		if err := writeTally(c.ctx, c.tx, t); err != nil {
			return fmt.Errorf("tally of %s: %w", t.of, err)
		}
	}
	return nil
}
