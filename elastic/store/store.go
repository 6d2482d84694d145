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
	db      *sql.DB
	lock    *os.File
	path    string
	notices []string
}

// Open opens, or makes, the store in the folder dir (mode 0700, the file 0600)
// and locks it against other daemons until Shutdown. A damaged file is set aside
// as sluice.db.corrupt-TIME, of which Notices tells, and an empty one started;
// now gives that TIME. ErrInUse, ErrNewer, ErrForeign, ErrReadOnly, ErrFull and
// ErrBusy leave everything as it was.
func Open(ctx context.Context, dir string, now time.Time) (*Store, error) {
	return open(ctx, dir, now, busyFor)
}

func open(ctx context.Context, dir string, now time.Time, busy time.Duration) (*Store, error) {
	if err := prepareFolder(dir); err != nil {
		return nil, err
	}
	s := &Store{path: filepath.Join(dir, name)}
	var err error
	if s.lock, err = lockFile(s.path + ".lock"); err != nil {
		return nil, err
	}
	if s.db, err = openFile(ctx, s.path, busy); errors.Is(err, ErrCorrupt) {
		s.db, err = s.replace(ctx, now, busy, err)
	}
	if err != nil {
		s.lock.Close()
		return nil, err
	}
	return s, nil
}

// replace sets the damaged file aside and starts an empty one.
func (s *Store) replace(ctx context.Context, now time.Time, busy time.Duration, why error) (*sql.DB, error) {
	aside, err := quarantine(s.path, now)
	if err != nil {
		return nil, err
	}
	s.notices = append(s.notices, fmt.Sprintf("the store %s was damaged (%v): it is kept as %s and an empty one is started; "+
		"jobs are found again in Slurm, learned speeds and histories are lost", s.path, why, aside))
	return openFile(ctx, s.path, busy)
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

// Notices returns what a person must be told about the opening, loudly; usually
// nothing.
func (s *Store) Notices() []string { return s.notices }

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
