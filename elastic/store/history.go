package store

import (
	"bytes"
	"compress/flate"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-hpc/sluice/elastic/past"
)

// historySteps are the migrations of the history: step n leads from schema n to n+1 and sets it. A newer
// schema is set aside, since nothing but pages depends on it.
var historySteps = []string{`
CREATE TABLE entries (
    id    INTEGER PRIMARY KEY AUTOINCREMENT,
    kind  TEXT    NOT NULL,
    at    INTEGER NOT NULL,
    job   INTEGER NOT NULL,
    uid   INTEGER NOT NULL,
    user  TEXT    NOT NULL,
    body  BLOB    NOT NULL
) STRICT;
CREATE INDEX entries_at ON entries (kind, at, id);
CREATE INDEX entries_job ON entries (kind, job, at, id);
CREATE TABLE samples (
    kind    TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    seconds REAL    NOT NULL,
    body    BLOB    NOT NULL,
    PRIMARY KEY (kind, at)
) STRICT, WITHOUT ROWID;
PRAGMA user_version = 1;`}

// History is the file of what happened, for those who look back: decisions, moves, and samples of nodes and
// shares. It is a file of its own, so that no write to it keeps a decision waiting, and its damage costs
// the journal nothing. It is safe for concurrent use.
type History struct {
	// Told, unless nil, is called by Add with a notice as OpenHistory's when it sets the file aside. It MUST be set
	// BEFORE the first call of Add.
	Told func(notice string)

	path string
	mu   sync.RWMutex // held for writing while db is replaced
	db   *sql.DB
	bad  atomic.Pointer[error] // the damage that a call found; the next Add starts an empty file
}

// OpenHistory opens, or creates, the history in the file path, in a folder that Open has prepared: the
// caller MUST hold the store's lock. A file that is damaged, or that a newer sluice wrote, is set
// aside as PATH.corrupt-TIME-history, and an empty one is started; the notice says so. Damage that
// is found later makes Add do the same.
//
// After any other error, such as ErrFull, ErrBusy or ErrDisk, nothing was set aside. If an
// empty file cannot be started either, there are both a notice and an error, and h is nil. The
// daemon runs without a history then: nothing is decided by it. The caller MUST call Close AFTER
// the last call of Add, and BEFORE Shutdown of the store.
func OpenHistory(ctx context.Context, path string, now time.Time) (h *History, notice string, err error) {
	h, err = openHistory(ctx, path)
	if err == nil {
		return h, "", nil
	}
	if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNewer) {
		return nil, "", err // nothing says that the file is bad: the disk, or who asks, may be
	}
	why := err
	aside, err := quarantine(path, "history", now)
	if err != nil {
		return nil, "", errors.Join(why, err)
	}
	h, err = openHistory(ctx, path)
	return h, emptied(path, why, aside), err
}

// emptied is the notice that a file was set aside.
func emptied(path string, why error, aside string) string {
	return fmt.Sprintf("the history %s cannot be used (%v): it is kept as %s and an empty one is started; only pages and reports about the past miss it", path, why, aside)
}

// openHistory opens one file and brings its schema up to date; it sets nothing aside. The log is
// flushed when it is folded into the file, not at each write (NORMAL): a power loss may take the
// last writes away, but never damages the file. That suffices for what nothing is decided by
// (decision 53).
func openHistory(ctx context.Context, path string) (*History, error) {
	if err := prepareFile(path); err != nil {
		return nil, err
	}
	options := url.Values{"_journal_mode": {"WAL"}, "_synchronous": {"NORMAL"}, "_busy_timeout": {strconv.Itoa(int(busyFor.Milliseconds()))}, "_txlock": {"immediate"}}
	db, err := sql.Open("sqlite3", (&url.URL{Scheme: "file", Path: path, RawQuery: options.Encode()}).String())
	if err != nil {
		return nil, explain("open", path, err)
	}
	db.SetMaxOpenConns(2) // a reader beside the writer
	h := &History{path: path, db: db}
	if err := h.check(ctx); err != nil {
		db.Close()
		return nil, err
	}
	return h, nil
}

// check brings the schema up to date. Each step is a transaction that also sets the version, so
// that a crash leaves one schema or the next. The rows are not read: damage in them is found by the
// first call that reads them. The last query makes SQLite read the schema, so that a damaged one is
// found here.
func (h *History) check(ctx context.Context) error {
	var version int
	if err := h.db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return explain("open", h.path, err)
	}
	if version > len(historySteps) {
		return &Error{Op: "open", Path: h.path, Err: ErrNewer, Text: fmt.Sprintf("it has schema %d, this program knows up to %d", version, len(historySteps))}
	}
	for _, statement := range historySteps[version:] {
		tx, err := h.db.BeginTx(ctx, nil)
		if err != nil {
			return explain("open", h.path, err)
		}
		_, err = tx.ExecContext(ctx, statement)
		if err == nil {
			err = tx.Commit()
		}
		if err != nil {
			return explain("open", h.path, errors.Join(err, tx.Rollback()))
		}
	}
	var tables int
	return explain("open", h.path, h.db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master").Scan(&tables))
}

// explain is the function, and notes damage. Nothing is set aside here, since the caller may be a
// reader that holds mu: Add does that.
func (h *History) explain(op string, err error) error {
	if err = explain(op, h.path, err); errors.Is(err, ErrCorrupt) {
		h.bad.Store(&err)
	}
	return err
}

// renew sets a file aside in which a call found damage, and starts an empty one; Told gets the notice. It
// waits for the calls under way. After an error, which names the file that was set aside, the history
// stays closed, reads fail, and the next Add tries again. It MUST be called by one goroutine at a time, as
// Add is.
func (h *History) renew(ctx context.Context, now time.Time) error {
	why := h.bad.Load()
	if why == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.db.Close(); err != nil { // the file MUST NOT be moved while it is open
		return explain("close", h.path, err)
	}
	aside, err := quarantine(h.path, "history", now)
	if err != nil {
		return err
	}
	fresh, err := openHistory(ctx, h.path)
	if err != nil {
		return fmt.Errorf("%w; the damaged history (%v) is kept as %s", err, *why, aside)
	}
	h.db = fresh.db
	h.bad.Store(nil)
	if h.Told != nil {
		h.Told(emptied(h.path, *why, aside))
	}
	return nil
}

// Close closes the file. It waits for the calls under way; later ones fail.
func (h *History) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return explain("close", h.path, h.db.Close())
}

const (
	addEntry  = `INSERT INTO entries (kind, at, job, uid, user, body) VALUES (?, ?, ?, ?, ?, ?)`
	addSample = `INSERT OR REPLACE INTO samples (kind, at, seconds, body) VALUES (?, ?, ?, ?)`
)

// Add stores entries and samples, all or none. An entry whose body is too long is left out. now names a
// file that is set aside because of damage.
//
// One goroutine at a time MUST call it. A sample replaces one of the same kind and time; entries
// are never replaced, and their IDs are given here. The slices and the bodies stay the caller's.
// Add does not bound what is stored: Thin does.
func (h *History) Add(ctx context.Context, entries []past.Entry, samples []past.Sample, now time.Time) error {
	if err := h.renew(ctx, now); err != nil {
		return err
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	tx, err := h.db.BeginTx(ctx, nil)
	if err != nil {
		return h.explain("keep history", err)
	}
	defer tx.Rollback() // after Commit it does nothing
	for _, e := range entries {
		if len(e.Body) > past.MostBody {
			continue
		}
		if _, err := tx.ExecContext(ctx, addEntry, e.Kind, e.At.UnixNano(), e.Job, e.UID, e.User, e.Body); err != nil {
			return h.explain("keep history", err)
		}
	}
	var p packer
	for _, s := range samples {
		if _, err := tx.ExecContext(ctx, addSample, s.Kind, s.At.UnixNano(), s.Seconds, p.packed(s.Body)); err != nil {
			return h.explain("keep history", err)
		}
	}
	return h.explain("keep history", tx.Commit())
}

// mostUnpacked bounds the body of a sample, in bytes: some 100,000 nodes.
const mostUnpacked = 16 << 20

// packer compresses. It keeps its working memory, which is much larger than most bodies. Its zero
// value is ready. Only the bodies of samples are compressed: those of entries are short
// (past.MostBody).
type packer struct{ w *flate.Writer }

// packed returns a compressed copy of the body, which belongs to the caller.
func (p *packer) packed(body []byte) []byte {
	var out bytes.Buffer
	if p.w == nil {
		p.w, _ = flate.NewWriter(&out, flate.BestSpeed) // the level is valid
	} else {
		p.w.Reset(&out)
	}
	_, _ = p.w.Write(body) // a buffer takes everything
	_ = p.w.Close()
	return out.Bytes()
}

// unpacked returns what packed was given. A body that packed did not return is ErrCorrupt, and so is one that
// expands beyond mostUnpacked, so that a damaged one cannot use up the daemon's memory.
func unpacked(body []byte) ([]byte, error) {
	r := flate.NewReader(bytes.NewReader(body))
	defer r.Close()
	out, err := io.ReadAll(io.LimitReader(r, mostUnpacked+1))
	switch {
	case err != nil:
		return nil, damaged(sortRows, "a sample cannot be unpacked: %v", err)
	case len(out) > mostUnpacked:
		return nil, damaged(sortRows, "a sample is longer than %d bytes", mostUnpacked)
	}
	return out, nil
}

// HistoryPath is the path of the history beside a store.
func HistoryPath(store string) string { return filepath.Join(filepath.Dir(store), "history.db") }
