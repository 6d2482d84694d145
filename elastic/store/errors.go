package store

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/mattn/go-sqlite3"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
)

// Kinds of failure. Test with errors.Is.
//
//	from Open alone            ErrInUse, ErrForeign: a person has to act
//	from Open, and reads       ErrNewer, also of open moves that only a newer sluice knows
//	may pass by themselves     ErrFull, ErrBusy, ErrDisk: the call may be repeated
//	after a person has acted   ErrReadOnly: likewise
//	never pass                 ErrCorrupt: the store has to be closed and opened again
var (
	// ErrInUse: another daemon holds the store.
	ErrInUse = errors.New("store is in use")
	// ErrNewer: the file was written by a newer sluice.
	ErrNewer = errors.New("store is newer than this program")
	// ErrForeign: the file, or its folder, does not belong to sluice.
	ErrForeign = errors.New("not sluice's store")
	// ErrCorrupt: the file is damaged. The next Open sets it aside.
	ErrCorrupt = errors.New("store is damaged")
	// ErrFull: no space left; nothing of the call was written.
	ErrFull = errors.New("no space left for the store")
	// ErrReadOnly: the file or its folder is not writable.
	ErrReadOnly = errors.New("store cannot be written")
	// ErrBusy: another program locked the file for too long.
	ErrBusy = errors.New("store is locked by another program")
	// ErrDisk: the disk or its driver fails; nothing of the call was acknowledged.
	ErrDisk = errors.New("the disk under the store fails")
)

// The kind of damage; part of the name under which a damaged file is kept.
const (
	sortHeader  = "header"  // its first bytes
	sortLog     = "log"     // the write-ahead log lost some of its contents
	sortPages   = "pages"   // SQLite's own structures
	sortSchema  = "schema"  // its tables are not sluice's
	sortRows    = "rows"    // a row does not match its sum, or rows are missing
	sortEmpty   = "empty"   // the file is empty
	sortMissing = "missing" // the file is missing, and files beside it exist
)

// Error is one failed call on the store. errors.Is compares Err; the texts are for people and may
// change.
type Error struct {
	Op   string // the operation: "open", "save jobs"
	Path string // the database, or the file or folder beside it that the call failed on
	Err  error  // one of the Err values, or an error of SQLite or the system
	Text string // details, may be empty
	Hint string // what to do, may be empty

	sort string // of ErrCorrupt: one of the kinds above
}

// whatOf returns what is wrong with a damaged file, without the rest.
func whatOf(err error) string {
	var known *Error
	if errors.As(err, &known) {
		return known.Text
	}
	return err.Error()
}

// damaged returns an ErrCorrupt of a kind; explain adds the operation and the file. Its Op is empty
// until explain fills it in.
func damaged(sort, format string, args ...any) error {
	return &Error{Err: ErrCorrupt, Text: fmt.Sprintf(format, args...), sort: sort}
}

// sortOf returns the kind of damage of an ErrCorrupt. It is sortPages for damage that SQLite itself
// reported.
func sortOf(err error) string {
	var known *Error
	if errors.As(err, &known) && known.sort != "" {
		return known.sort
	}
	return sortPages
}

// Error returns what failed, on which file, and what to do.
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

// kinds is the one table from SQLite's errors to the kinds above.
var kinds = map[sqlite3.ErrNo]error{
	sqlite3.ErrCorrupt:  ErrCorrupt,
	sqlite3.ErrNotADB:   ErrCorrupt,
	sqlite3.ErrFull:     ErrFull,
	sqlite3.ErrReadonly: ErrReadOnly,
	sqlite3.ErrCantOpen: ErrReadOnly,
	sqlite3.ErrPerm:     ErrReadOnly,
	sqlite3.ErrBusy:     ErrBusy,
	sqlite3.ErrLocked:   ErrBusy,
	sqlite3.ErrIoErr:    ErrDisk,
}

// numbers is the table for the system's errors, which say more than SQLite's if both are known.
// For example, SQLite reports an exceeded quota (EDQUOT) as ErrIoErr, like a broken disk.
var numbers = []struct {
	number syscall.Errno
	kind   error
}{
	{syscall.ENOSPC, ErrFull}, {syscall.EDQUOT, ErrFull}, {syscall.EFBIG, ErrFull},
	{syscall.EROFS, ErrReadOnly}, {syscall.EACCES, ErrReadOnly}, {syscall.EPERM, ErrReadOnly},
	{syscall.EIO, ErrDisk},
}

// hints say what to do about each kind.
var hints = map[error]string{
	ErrCorrupt:  "restart sluiced: it sets the file aside and finds its jobs in Slurm",
	ErrFull:     "free space on its file system, or raise the quota of the daemon's account",
	ErrReadOnly: "the daemon's account must own the file and its folder, on a file system mounted for writing",
	ErrBusy:     "close the program that has the file open",
	ErrDisk:     "see the kernel's log with 'dmesg'; jobs run on meanwhile, and a [paths] state on another disk starts empty and finds them",
}

// explain turns any failure into an *Error; errors of the context and of the journal stay as
// they are.
//
// The operation that is named is the innermost one, which is the one that failed: an *Error that
// has an Op already is returned unchanged. Errors of the context and of the journal are no failures
// of the file, and callers compare them.
func explain(op, path string, err error) error {
	var known *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		if known.Op == "" { // set below, where it was not known
			return &Error{Op: op, Path: path, Err: known.Err, Text: known.Text, Hint: hints[known.Err], sort: known.sort}
		}
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, journal.ErrIntentOpen), errors.Is(err, journal.ErrNoIntent):
		return err
	}
	if kind := kindOf(err); kind != nil {
		return &Error{Op: op, Path: path, Err: kind, Text: err.Error(), Hint: hints[kind]}
	}
	return &Error{Op: op, Path: path, Err: err}
}

// kindOf returns which of the Err values an error of SQLite or of the system is, nil if none. The
// system's number is looked at first: see numbers.
func kindOf(err error) error {
	var lite sqlite3.Error
	isLite := errors.As(err, &lite)
	for _, n := range numbers {
		if errors.Is(err, n.number) || isLite && lite.SystemErrno == n.number {
			return n.kind
		}
	}
	if isLite {
		return kinds[lite.Code]
	}
	return nil
}

// suspect is explain for the calls that check a file. A file without what it must contain, or
// that SQLite cannot read, is damaged; a failure caused by the system or another program does
// not blame the file.
//
//	SQLite says                        a checked file      any other call (explain)
//	SQLITE_CORRUPT, SQLITE_NOTADB      ErrCorrupt          ErrCorrupt
//	no such table or column            ErrCorrupt          an error without a kind
//	SQLITE_BUSY, SQLITE_FULL           ErrBusy, ErrFull    ErrBusy, ErrFull
//	SQLITE_NOMEM, SQLITE_INTERRUPT     without a kind      without a kind
func suspect(op, path, sort string, err error) error {
	var lite sqlite3.Error
	if errors.As(err, &lite) && kindOf(err) == nil && !passing[lite.Code] {
		err = damaged(sort, "%v", lite)
	}
	return explain(op, path, err)
}

// passing are SQLite's errors that say nothing about the file.
var passing = map[sqlite3.ErrNo]bool{
	sqlite3.ErrNomem: true, sqlite3.ErrInterrupt: true, sqlite3.ErrAuth: true, sqlite3.ErrProtocol: true, sqlite3.ErrAbort: true,
}

// constraint reports whether err is a violation of a unique index. In this schema that is
// intents_open: one open move for each job.
func constraint(err error) bool {
	var lite sqlite3.Error
	return errors.As(err, &lite) && lite.ExtendedCode == sqlite3.ErrConstraintUnique
}
