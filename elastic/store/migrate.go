package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed migrations/*.sql
var migrations embed.FS

// applicationID marks a SQLite file as sluice's; see migrations/0001.
const applicationID = 1936487779

// scripts returns the migrations in order: scripts()[n] leads from schema n to n+1. Each sets
// user_version itself, in the transaction that runs it. A script that was released MUST NOT be
// changed: files exist that it has made.
func scripts() ([]string, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql") // sorted
	if err != nil {
		return nil, err
	}
	out := make([]string, len(names))
	for n, file := range names {
		if !strings.HasPrefix(file, fmt.Sprintf("migrations/%04d_", n+1)) {
			return nil, fmt.Errorf("%s: migrations are numbered from 0001 without gaps", file)
		}
		raw, err := migrations.ReadFile(file)
		if err != nil {
			return nil, err
		}
		out[n] = string(raw)
	}
	return out, nil
}

// migrate brings the schema up to date in one transaction, so that a crash leaves the old or the
// new one. It refuses files that are newer or not sluice's. Going back to an older sluice is not
// supported: that one returns ErrNewer.
func migrate(ctx context.Context, db *sql.DB, path string, steps []string) error {
	version, err := schema(ctx, db, path)
	if err != nil {
		return err
	}
	if version > len(steps) {
		return &Error{Op: "open", Path: path, Err: ErrNewer,
			Text: fmt.Sprintf("it has schema %d, this program knows up to %d", version, len(steps)),
			Hint: "install the newer sluice again, or move the file away to start with an empty one"}
	}
	if version == len(steps) {
		return nil
	}
	return suspect(fmt.Sprintf("migrate to schema %d", len(steps)), path, sortSchema, apply(ctx, db, steps, version))
}

// schema returns the file's schema version, 0 for an empty file. From schema 3 on it is stored
// twice: in the header, and in a row with a sum. If the two differ the header is damaged. Another
// program's file is ErrForeign, which the caller MUST leave alone. A file is empty if it has no
// version, no program and no table.
func schema(ctx context.Context, db *sql.DB, path string) (int, error) {
	var version, application, tables int
	for _, q := range []struct {
		text string
		into *int
	}{
		{"PRAGMA user_version", &version},
		{"PRAGMA application_id", &application},
		{"SELECT count(*) FROM sqlite_master", &tables},
	} {
		if err := db.QueryRowContext(ctx, q.text).Scan(q.into); err != nil {
			return 0, suspect("read schema", path, sortSchema, err)
		}
	}
	if said, err := readTally(ctx, db, whole); err == nil && (application != applicationID || said.last != int64(version)) {
		return 0, explain("read schema", path, damaged(sortHeader, "the header says schema %d of program %d, the tally schema %d",
			version, application, said.last))
	}
	empty := version == 0 && application == 0 && tables == 0
	if !empty && (application != applicationID || version < 1) {
		return 0, &Error{Op: "open", Path: path, Err: ErrForeign, Text: "a SQLite file of another program",
			Hint: "move it away or set [paths] state"}
	}
	return version, nil
}

// apply runs the missing migrations. A migration that changes the contents of rows MUST also
// give them new sums, as seal does for rows that had none.
//
// All of it is one transaction, in this ORDER:
//
//  1. the rows are checked with the columns that they had, so that no damaged row gets a valid sum;
//  2. the scripts, each of which MUST set the next schema;
//  3. tallies of zero for tables that are new;
//  4. new sums for the rows of tables with new columns, or for all rows if there were none;
//  5. the schema in the tally of the whole store.
func apply(ctx context.Context, db *sql.DB, steps []string, from int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after Commit it does nothing
	summed := from >= firstSummed
	if summed { // damaged rows get no new sum
		if err := verify(ctx, tx, before(from)); err != nil {
			return err
		}
	}
	for n, script := range steps[from:] {
		if _, err := tx.ExecContext(ctx, script); err != nil {
			return err
		}
		var now int
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&now); err != nil {
			return err
		}
		if now != from+n+1 {
			return fmt.Errorf("the migration to schema %d set schema %d", from+n+1, now)
		}
	}
	for of, since := range added { // a new table begins with a tally of zero
		if !summed || from >= since {
			continue
		}
		if err := writeTally(ctx, tx, &tally{of: of}); err != nil {
			return err
		}
	}
	if err := seal(ctx, tx, resealed(from), !summed); err != nil {
		return err
	}
	store, err := readTally(ctx, tx, whole)
	if err != nil {
		return err
	}
	store.last = int64(len(steps))
	if err := writeTally(ctx, tx, store); err != nil {
		return err
	}
	return tx.Commit()
}

const (
	// firstSummed is the first schema whose rows have sums.
	firstSummed = 3
	// kindsKnown is the first schema in which samples have a node type.
	kindsKnown = 4
	// answersKnown is the first schema with answers.
	answersKnown = 5
	// endingsKnown is the first schema in which jobs have an ending.
	endingsKnown = 6
	// accountsKnown is the first schema in which jobs have an account.
	accountsKnown = 7
	// creditsKnown is the first schema with credits.
	creditsKnown = 8
	// ownersKnown is the first schema in which a job's owner may be another user than Slurm's.
	ownersKnown = 9
)

// added has the tables that are newer than sums, with the first schema that has them.
var added = map[string]int{"answers": answersKnown, "credits": creditsKnown}

// before returns the tables as an earlier schema with sums has them: an old row's sum is over
// the columns it had then.
//
//	schema 3       all columns, in the order in which the script made them
//	schema 4, 5    jobs without barred, ending, account and slurm_uid
//	schema 6       jobs without account and slurm_uid
//	schema 7, 8    jobs without slurm_uid
//	schema 9       all columns
//
// Schemas before that of a table (see added) are without the table.
func before(schema int) []table {
	out := slices.DeleteFunc(slices.Clone(tables), func(t table) bool { return schema < added[t.name] })
	for i := range out {
		switch {
		case schema < kindsKnown:
			out[i] = out[i].asBefore()
		case schema < endingsKnown:
			out[i] = out[i].without("barred, ending, account, slurm_uid")
		case schema < accountsKnown:
			out[i] = out[i].without("account, slurm_uid")
		case schema < ownersKnown:
			out[i] = out[i].without("slurm_uid")
		}
	}
	return out
}

// resealed lists the tables whose rows have more columns than in an earlier schema. They need new
// sums, which are over all columns. A migration that adds a column to a table MUST be added here
// and in before.
func resealed(schema int) []table {
	if schema < firstSummed {
		return tables
	}
	return slices.DeleteFunc(slices.Clone(tables), func(t table) bool {
		return t.name != "jobs" && (t.name != "samples" || schema >= kindsKnown) || schema >= ownersKnown
	})
}
