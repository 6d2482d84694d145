package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"

	"github.com/sluice-hpc/sluice/elastic/engine"
)

// Store implements these.
var (
	_ engine.Journal = (*Store)(nil)
	_ engine.Samples = (*Store)(nil)
)

// busyFor is how long a call waits for another program that has the file locked,
// such as a person with the sqlite3 shell.
const busyFor = 5 * time.Second

// Store is an open journal. It may be used from many goroutines; writes queue.
type Store struct {
	db   *sql.DB
	lock *os.File
	path string
}

// Open opens, or makes, the store in the file path (mode 0600; its folder, which
// should be the daemon's alone, 0700) and locks it against other daemons until
// Shutdown. A damaged file is set aside as PATH.corrupt-TIME and an empty one
// started; now gives that TIME, and the notices returned tell of it and must
// reach a person. ErrInUse, ErrNewer, ErrForeign, ErrReadOnly, ErrFull and
// ErrBusy leave everything as it was.
func Open(ctx context.Context, path string, now time.Time) (s *Store, notices []string, err error) {
	return open(ctx, path, now, busyFor)
}

func open(ctx context.Context, path string, now time.Time, busy time.Duration) (*Store, []string, error) {
	if err := prepareFolder(filepath.Dir(path)); err != nil {
		return nil, nil, err
	}
	s := &Store{path: path}
	var notices []string
	var err error
	if s.lock, err = lockFile(path + ".lock"); err != nil {
		return nil, nil, err
	}
	if s.db, err = openFile(ctx, path, busy); errors.Is(err, ErrCorrupt) {
		var notice string
		s.db, notice, err = replace(ctx, path, now, busy, err)
		notices = append(notices, notice)
	}
	if err != nil {
		s.lock.Close()
		return nil, nil, err
	}
	return s, notices, nil
}

// replace sets the damaged file aside, starts an empty one and says so.
func replace(ctx context.Context, path string, now time.Time, busy time.Duration, why error) (*sql.DB, string, error) {
	aside, err := quarantine(path, now)
	if err != nil {
		return nil, "", err
	}
	db, err := openFile(ctx, path, busy)
	return db, fmt.Sprintf("the store %s was damaged (%v): it is kept as %s and an empty one is started; "+
		"jobs are found again in Slurm, learned speeds, histories and trust in nodes are lost", path, why, aside), err
}

// openFile opens, checks and migrates one file.
func openFile(ctx context.Context, path string, busy time.Duration) (*sql.DB, error) {
	if err := prepareFile(path); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite3", source(path, busy))
	if err != nil {
		return nil, explain("open", path, err)
	}
	// One connection: the writer, and readers wait their turn. All calls are short.
	db.SetMaxOpenConns(1)
	steps, err := scripts()
	if err == nil {
		err = check(ctx, db, path)
	}
	if err == nil {
		err = migrate(ctx, db, path, steps)
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// source names the file and how every connection treats it: an intent must be on
// the disk before its first effect, hence FULL.
func source(path string, busy time.Duration) string {
	options := url.Values{
		"_journal_mode": {"WAL"},
		"_synchronous":  {"FULL"},
		"_busy_timeout": {strconv.FormatInt(busy.Milliseconds(), 10)},
		"_txlock":       {"immediate"},
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: options.Encode()}).String()
}

// check asks SQLite whether the file is sound and in the mode we count on.
func check(ctx context.Context, db *sql.DB, path string) error {
	var verdict, mode string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return explain("check", path, err)
	}
	if verdict != "ok" {
		return &Error{Op: "check", Path: path, Err: ErrCorrupt, Text: verdict}
	}
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return explain("check", path, err)
	}
	if mode != "wal" {
		return &Error{Op: "check", Path: path, Err: ErrForeign, Text: "SQLite cannot use its write-ahead log here",
			Hint: "put [paths] state on a local disk"}
	}
	return nil
}

// Path returns the database's file.
func (s *Store) Path() string { return s.path }

// Shutdown folds the write-ahead log into the file, closes it and drops the
// lock. (Close is the journal's word for ending an intent.)
func (s *Store) Shutdown() error {
	err := explain("close", s.path, s.db.Close())
	return errors.Join(err, explain("unlock", s.path, s.lock.Close()))
}

// write runs change in one transaction that is on the disk when write returns
// nil, and undone when it does not.
func (s *Store) write(ctx context.Context, op string, change func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return explain(op, s.path, err)
	}
	defer tx.Rollback() // after Commit it does nothing
	if err := change(tx); err != nil {
		return explain(op, s.path, err)
	}
	return explain(op, s.path, tx.Commit())
}

// rows runs a query and calls scan for every row.
func (s *Store) rows(ctx context.Context, op, query string, scan func(*sql.Rows) error, args ...any) error {
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return explain(op, s.path, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return explain(op, s.path, err)
		}
	}
	return explain(op, s.path, rows.Err())
}
