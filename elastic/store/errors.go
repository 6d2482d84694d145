package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/mattn/go-sqlite3"

	"github.com/sluice-hpc/sluice/elastic/engine"
)

// What went wrong, for decisions. Test with errors.Is.
var (
	// ErrInUse: another daemon holds the store.
	ErrInUse = errors.New("store is in use")
	// ErrNewer: the file was written by a newer sluice.
	ErrNewer = errors.New("store is newer than this program")
	// ErrForeign: the file, or its folder, is not sluice's to write.
	ErrForeign = errors.New("not sluice's store")
	// ErrCorrupt: the file is damaged. Opening again sets it aside.
	ErrCorrupt = errors.New("store is damaged")
	// ErrFull: no space left; nothing of the call was written.
	ErrFull = errors.New("no space left for the store")
	// ErrReadOnly: the file or its folder may not be written.
	ErrReadOnly = errors.New("store cannot be written")
	// ErrBusy: another program held the file for too long.
	ErrBusy = errors.New("store is locked by another program")
)

// Error is one failed call on the store.
type Error struct {
	Op   string // what was meant: "open", "save jobs"
	Path string
	Err  error  // one of the Err values, or SQLite's or the system's own
	Text string // details, may be empty
	Hint string // what to do, may be empty
}

// Error says what failed, on which file, and what to do.
func (e *Error) Error() string {
	s := fmt.Sprintf("store %s: %s: %v", e.Path, e.Op, e.Err)
	if e.Text != "" {
		s += ": " + e.Text
	}
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Unwrap returns the kind of failure.
func (e *Error) Unwrap() error { return e.Err }

// kinds is the one table from SQLite's words to ours.
var kinds = map[sqlite3.ErrNo]struct {
	err  error
	hint string
}{
	sqlite3.ErrCorrupt:  {ErrCorrupt, "restart sluiced: it sets the file aside and finds its jobs in Slurm"},
	sqlite3.ErrNotADB:   {ErrCorrupt, "restart sluiced: it sets the file aside and finds its jobs in Slurm"},
	sqlite3.ErrFull:     {ErrFull, "free space on its file system"},
	sqlite3.ErrReadonly: {ErrReadOnly, "the daemon's account must own the file and its folder"},
	sqlite3.ErrCantOpen: {ErrReadOnly, "the daemon's account must own the file and its folder"},
	sqlite3.ErrPerm:     {ErrReadOnly, "the daemon's account must own the file and its folder"},
	sqlite3.ErrBusy:     {ErrBusy, "close the program that has the file open"},
	sqlite3.ErrLocked:   {ErrBusy, "close the program that has the file open"},
}

// explain turns whatever failed into an *Error; the context's errors and the
// journal's own words stay as they are.
func explain(op, path string, err error) error {
	var known *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, engine.ErrIntentOpen), errors.Is(err, engine.ErrNoIntent):
		return err
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &Error{Op: op, Path: path, Err: ErrFull, Text: err.Error(), Hint: "free space on its file system"}
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EROFS):
		return &Error{Op: op, Path: path, Err: ErrReadOnly, Text: err.Error(),
			Hint: "the daemon's account must own the file and its folder"}
	}
	var lite sqlite3.Error
	if errors.As(err, &lite) {
		if lite.SystemErrno == syscall.ENOSPC {
			return &Error{Op: op, Path: path, Err: ErrFull, Text: lite.Error(), Hint: "free space on its file system"}
		}
		if kind, ok := kinds[lite.Code]; ok {
			return &Error{Op: op, Path: path, Err: kind.err, Text: lite.Error(), Hint: kind.hint}
		}
	}
	return &Error{Op: op, Path: path, Err: err}
}

// constraint reports whether err is the breach of a unique index.
func constraint(err error) bool {
	var lite sqlite3.Error
	return errors.As(err, &lite) && lite.ExtendedCode == sqlite3.ErrConstraintUnique
}
