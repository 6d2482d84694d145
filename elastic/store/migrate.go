package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed migrations/*.sql
var migrations embed.FS

// applicationID marks a SQLite file as sluice's; see migrations/0001.
const applicationID = 1936487779

// scripts returns the migrations in order: scripts()[n] leads from schema n to
// n+1. Each sets user_version itself, in the transaction that runs it.
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

// migrate brings the schema up to date, one transaction a migration, and refuses
// files that are newer or not sluice's.
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
	for n := version; n < len(steps); n++ {
		if err := apply(ctx, db, steps[n], n+1); err != nil {
			return explain(fmt.Sprintf("migrate to schema %d", n+1), path, err)
		}
	}
	return nil
}

// schema returns the file's schema version, 0 for an empty file.
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
			return 0, explain("read schema", path, err)
		}
	}
	empty := version == 0 && application == 0 && tables == 0
	if !empty && (application != applicationID || version < 1) {
		return 0, &Error{Op: "open", Path: path, Err: ErrForeign, Text: "a SQLite file of another program",
			Hint: "move it away or set [paths] state"}
	}
	return version, nil
}

func apply(ctx context.Context, db *sql.DB, script string, version int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after Commit it does nothing
	if _, err := tx.ExecContext(ctx, script); err != nil {
		return err
	}
	var now int
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&now); err != nil {
		return err
	}
	if now != version {
		return fmt.Errorf("the migration set schema %d", now)
	}
	return tx.Commit()
}
