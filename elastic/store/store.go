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
	"sync/atomic"
	"time"

	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
)

// Store implements these.
var (
	_ journal.Journal = (*Store)(nil)
	_ journal.Samples = (*Store)(nil)
)

// busyFor is how long a call waits for another program that has the file locked, such as a
// person's sqlite3 shell.
const busyFor = 5 * time.Second

// Store is an open journal. It is safe for concurrent use; writes are serialized. It is made by
// Open alone. It has no goroutine of its own.
type Store struct {
	db     *sql.DB
	lock   *lock // held from Open to Shutdown
	path   string
	file   os.FileInfo           // the file as opened
	damage atomic.Pointer[Error] // the first damage that a call found; it stays
}

// Open opens, or creates, the store in the file path (mode 0600; its folder, which should be
// private to the daemon, 0700) and locks it against other daemons until Shutdown. It first
// checks everything in it. A damaged file is set aside as PATH.corrupt-TIME-WHAT and an empty
// one started; now gives that TIME. The notices report that, a missing file that existed
// before, and an older copy that was restored; they MUST reach a person. After ErrInUse,
// ErrNewer, ErrForeign, ErrReadOnly, ErrFull, ErrDisk and ErrBusy everything is unchanged.
//
// It reads the whole file, so that its time grows with the rows that Prune leaves. ctx bounds the
// checks. If it returns an error, nothing is held and s is nil; else the caller MUST call Shutdown.
func Open(ctx context.Context, path string, now time.Time) (s *Store, notices []string, err error) {
	return open(ctx, path, now, busyFor)
}

// open is Open with the time that a call waits for another program's lock. The folder is checked
// BEFORE a lock file is made in it, and the lock is taken BEFORE the file is read.
func open(ctx context.Context, path string, now time.Time, busy time.Duration) (*Store, []string, error) {
	if err := prepareFolder(filepath.Dir(path)); err != nil {
		return nil, nil, err
	}
	s := &Store{path: path}
	var err error
	if s.lock, err = takeLock(path); err != nil {
		return nil, nil, err
	}
	notices, err := s.start(ctx, now, busy)
	if err != nil {
		s.lock.release()
		return nil, nil, err
	}
	return s, notices, nil
}

// start opens the file, or a new one in its place, and counts the opening. The lock MUST be
// held: a file that another daemon is writing may look damaged.
//
// The ORDER is: what lies beside a missing file, the file itself, the count of openings, the open
// moves. A file that is damaged is replaced by an empty one once; if that one cannot be opened
// either, start fails.
func (s *Store) start(ctx context.Context, now time.Time, busy time.Duration) (notices []string, err error) {
	known := s.lock.opened > 0
	fresh := false
	err = leftovers(s.path, known)
	if err == nil {
		s.db, fresh, err = openFile(ctx, s.path, busy)
	}
	switch {
	case errors.Is(err, ErrCorrupt):
		var notice string
		s.db, notice, err = replace(ctx, s.path, now, busy, err)
		notices, fresh = append(notices, notice), true
	case fresh && known:
		notices = append(notices, fmt.Sprintf("the store %s is missing, though it was opened %d times before: an empty one is started; "+
			"jobs are found again in Slurm, learned speeds, histories and trust in nodes are lost; to have them back, "+
			"stop sluiced and put a copy of the file in its place", s.path, s.lock.opened))
	}
	if err != nil {
		return nil, err
	}
	notice, err := s.countOpening(ctx, fresh)
	if err == nil {
		s.file, err = os.Stat(s.path)
	}
	if err == nil { // BEFORE anything is done about them
		_, err = s.Open(ctx)
	}
	if err != nil {
		s.db.Close()
		return nil, explain("open", s.path, err)
	}
	return append(notices, notice...), nil
}

// leftovers returns an ErrCorrupt if an existing database is gone or empty and SQLite's files
// beside it are not: they MUST NOT be combined with a new one. known says whether the store was
// opened before.
func leftovers(path string, known bool) error {
	info, err := os.Lstat(path)
	gone := errors.Is(err, os.ErrNotExist)
	if err != nil && !gone {
		return explain("open", path, err)
	}
	if !gone && info.Size() > 0 {
		return nil
	}
	left, err := anyOf(path, beside[1:])
	switch {
	case err != nil:
		return explain("open", path, err)
	case left && gone:
		err = damaged(sortMissing, "the file is gone, and its write-ahead log is not")
	case !gone && known: // else the first start failed half way, and SQLite cleans up
		err = damaged(sortEmpty, "the file is empty")
	}
	return explain("open", path, err)
}

// replace sets the damaged file aside, starts an empty one and returns notices. The database MUST
// NOT be open. An error leaves the damaged file where it is, or set aside without a new one; both
// are found by the next Open.
func replace(ctx context.Context, path string, now time.Time, busy time.Duration, why error) (*sql.DB, string, error) {
	aside, err := quarantine(path, sortOf(why), now)
	if err != nil {
		return nil, "", err
	}
	db, _, err := openFile(ctx, path, busy)
	return db, fmt.Sprintf("the store %s was damaged (%s): it is kept as %s and an empty one is started; "+
		"jobs are found again in Slurm, learned speeds, histories and trust in nodes are lost; nothing has to be done; "+
		"'sqlite3 %s .recover' shows what can still be read, and if that is not needed, the file may be removed",
		path, whatOf(why), aside, aside), err
}

// countOpening counts the times the store was opened, in the store and in the lock file. A
// store with a lower count than the lock file is an older copy. The store is written first:
// a crash between the two leaves it the higher count, which raises no alarm.
//
//	lock file   store   what that means
//	3           3       as the last daemon left it
//	3           4       it was killed between the two writes
//	3           2       an older copy of the file was put in its place: a notice
//	3           0       a new file, fresh: start has given a notice already
func (s *Store) countOpening(ctx context.Context, fresh bool) (notices []string, err error) {
	err = s.write(ctx, "open", func(c *change) error {
		t, err := c.tally(whole)
		if err != nil {
			return err
		}
		if !fresh && t.n < s.lock.opened {
			notices = []string{fmt.Sprintf("the store %s is an older copy: it was opened %d times, where the last one was opened %d times; "+
				"moves that went on since are checked against Slurm, speeds, histories and trust in nodes since are lost", s.path, t.n, s.lock.opened)}
		}
		t.n = max(t.n, s.lock.opened) + 1
		s.lock.opened = t.n
		return nil
	})
	if err != nil {
		return nil, err
	}
	return notices, s.lock.write()
}

// openFile opens, checks and migrates one file; fresh: it was empty. The header and the log are
// checked BEFORE SQLite opens the file: SQLite would rebuild the log's index from the log, and with
// it forget how long the log has to be. If a check fails the database is closed again, so that the
// file can be set aside. An empty file is no damage here: see leftovers.
func openFile(ctx context.Context, path string, busy time.Duration) (_ *sql.DB, fresh bool, err error) {
	if err := prepareFile(path); err != nil {
		return nil, false, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, false, explain("open", path, err)
	}
	if err := errors.Join(checkHeader(path), checkLog(path)); err != nil {
		return nil, false, err
	}
	db, err := sql.Open("sqlite3", source(path, busy))
	if err != nil {
		return nil, false, explain("open", path, err)
	}
	// One connection: the writer, and readers wait their turn. All calls are short.
	db.SetMaxOpenConns(1)
	if err := checkAll(ctx, db, path); err != nil {
		db.Close()
		return nil, false, err
	}
	return db, info.Size() == 0, nil
}

// checkAll checks the file, migrates it, and checks the result. The ORDER matters: a damaged
// file MUST NOT be written to, and checkRows knows the newest schema only.
func checkAll(ctx context.Context, db *sql.DB, path string) error {
	steps, err := scripts()
	if err != nil {
		return err
	}
	if err := checkPages(ctx, db, path); err != nil {
		return err
	}
	if err := migrate(ctx, db, path, steps); err != nil {
		return err
	}
	return checkRows(ctx, db, path)
}

// source returns the data source: the file, and how every connection treats it. An intent MUST
// be on the disk BEFORE its first effect, hence FULL.
func source(path string, busy time.Duration) string {
	options := url.Values{
		"_journal_mode": {"WAL"},
		"_synchronous":  {"FULL"},
		"_busy_timeout": {strconv.FormatInt(busy.Milliseconds(), 10)},
		// A transaction reads tallies first and then writes. One that locked for writing only then
		// would fail, without waiting busy, if another program wrote in between.
		"_txlock": {"immediate"},
		// There are about as many statements; each is parsed once per connection.
		"_stmt_cache_size": {"32"},
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: options.Encode()}).String()
}

// Path returns the database's file. It is the path that Open was given.
func (s *Store) Path() string { return s.path }

// Shutdown folds the write-ahead log into the file, closes it and drops the lock. (Close ends an
// intent of the journal.) It MUST be called once, AFTER the last call has returned. The lock is
// dropped last: another daemon would otherwise open a file that is being written.
func (s *Store) Shutdown() error {
	err := explain("close", s.path, s.db.Close())
	return errors.Join(err, explain("unlock", s.path, s.lock.release()))
}

// Damage returns the first damage that a call found since Open, nil if there was none. A daemon
// that finds damage should stop: the next Open sets the file aside. Any goroutine may call it;
// sluiced does after each cycle. It is not reset.
func (s *Store) Damage() error {
	if e := s.damage.Load(); e != nil {
		return e
	}
	return nil
}

// explain is the function, and records damage.
func (s *Store) explain(op string, err error) error {
	err = explain(op, s.path, err)
	var e *Error
	if errors.As(err, &e) && errors.Is(e.Err, ErrCorrupt) {
		s.damage.CompareAndSwap(nil, e)
	}
	return err
}

// write runs one change in a transaction. It is on the disk if write returns nil, and undone
// otherwise. do MUST change rows with put and forget only, or the tallies do not match the rows and
// the next Open takes the file for damaged. do MUST NOT use s.db: its only connection is the
// transaction's. A ctx that has ended undoes it. op is for the text of an error.
func (s *Store) write(ctx context.Context, op string, do func(*change) error) error {
	if err := s.same(); err != nil {
		return s.explain(op, err)
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return s.explain(op, err)
	}
	defer tx.Rollback() // after Commit it does nothing
	c := &change{ctx, tx, map[string]*tally{}}
	if err := do(c); err != nil {
		return s.explain(op, err)
	}
	if err := c.settle(); err != nil {
		return s.explain(op, err)
	}
	return s.explain(op, tx.Commit())
}

// same checks that the file is still the one that was opened. An intent that is written to a
// removed or replaced file would be lost after a restart. It costs one lstat per write. Reads are
// not checked: their result is at worst old.
func (s *Store) same() error {
	if s.file == nil { // being opened
		return nil
	}
	info, err := os.Lstat(s.path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err != nil || !os.SameFile(info, s.file) {
		return damaged(sortMissing, "the file was removed or replaced while it was open")
	}
	return nil
}

// rows runs a query for whole rows of a table and calls scan for each, AFTER its sum was checked.
// scan MUST NOT keep the row, and MUST NOT call the store, whose connection the query holds. Rows
// before an error were passed already: callers drop what they have of them. args are the query's.
func (s *Store) rows(ctx context.Context, op, of, query string, scan func(row) error, args ...any) error {
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return s.explain(op, err)
	}
	defer rows.Close()
	for rows.Next() {
		r, err := checked(of, rows)
		if err == nil {
			err = scan(r)
		}
		if err != nil {
			return s.explain(op, err)
		}
	}
	return s.explain(op, rows.Err())
}
