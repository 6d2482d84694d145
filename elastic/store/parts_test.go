package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mattn/go-sqlite3"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
)

// TestKindsOfErrors: every error of SQLite and the system is of one of few kinds; the system's
// counts if both are known; an error of no kind stays unchanged.
func TestKindsOfErrors(t *testing.T) {
	strange := errors.New("strange")
	for _, c := range []struct{ err, want error }{
		{sqlite3.Error{Code: sqlite3.ErrCorrupt}, ErrCorrupt}, {sqlite3.Error{Code: sqlite3.ErrNotADB}, ErrCorrupt}, {sqlite3.Error{Code: sqlite3.ErrFull}, ErrFull},
		{sqlite3.Error{Code: sqlite3.ErrReadonly}, ErrReadOnly}, {sqlite3.Error{Code: sqlite3.ErrCantOpen}, ErrReadOnly}, {sqlite3.Error{Code: sqlite3.ErrPerm}, ErrReadOnly},
		{sqlite3.Error{Code: sqlite3.ErrBusy}, ErrBusy}, {sqlite3.Error{Code: sqlite3.ErrLocked}, ErrBusy}, {sqlite3.Error{Code: sqlite3.ErrIoErr}, ErrDisk},
		{sqlite3.Error{Code: sqlite3.ErrIoErr, SystemErrno: syscall.ENOSPC}, ErrFull}, {sqlite3.Error{Code: sqlite3.ErrIoErr, SystemErrno: syscall.EROFS}, ErrReadOnly},
		{&fs.PathError{Op: "write", Err: syscall.EDQUOT}, ErrFull}, {&fs.PathError{Op: "write", Err: syscall.EFBIG}, ErrFull}, {&fs.PathError{Op: "open", Err: syscall.EACCES}, ErrReadOnly},
		{&fs.PathError{Op: "open", Err: syscall.EPERM}, ErrReadOnly}, {&fs.PathError{Op: "read", Err: syscall.EIO}, ErrDisk},
		{strange, strange}, {sqlite3.Error{Code: sqlite3.ErrMismatch}, sqlite3.Error{Code: sqlite3.ErrMismatch}},
	} {
		err := explain("save", "/x", fmt.Errorf("because: %w", c.err))
		var known *Error
		if !errors.Is(err, c.want) || !errors.As(err, &known) || known.Op != "save" || known.Path != "/x" || (known.Hint != "") != (hints[c.want] != "") {
			t.Errorf("%v is %v, want %v", c.err, err, c.want)
		}
		if again := explain("open", "/y", err); again != err {
			t.Errorf("explained twice: %v", again)
		}
	}
	for _, err := range []error{nil, context.Canceled, context.DeadlineExceeded, journal.ErrIntentOpen, journal.ErrNoIntent} {
		if got := explain("save", "/x", err); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
	for err, corrupt := range map[error]bool{
		sqlite3.Error{Code: sqlite3.ErrError}: true, sqlite3.Error{Code: sqlite3.ErrMismatch}: true, sqlite3.Error{Code: sqlite3.ErrNomem}: false, sqlite3.Error{Code: sqlite3.ErrInterrupt}: false,
		sqlite3.Error{Code: sqlite3.ErrAuth}: false, sqlite3.Error{Code: sqlite3.ErrProtocol}: false, sqlite3.Error{Code: sqlite3.ErrAbort}: false, sqlite3.Error{Code: sqlite3.ErrBusy}: false, strange: false,
	} {
		if got := suspect("check", "/x", sortSchema, err); errors.Is(got, ErrCorrupt) != corrupt || corrupt && sortOf(got) != sortSchema {
			t.Errorf("%v: %v", err, got)
		}
	}
	for want, err := range map[string]error{
		"store /x: open: store is damaged: page 3 (restart it)": &Error{Op: "open", Path: "/x", Err: ErrCorrupt, Text: "page 3", Hint: "restart it"},
		"store /x: open: store is damaged":                      &Error{Op: "open", Path: "/x", Err: ErrCorrupt},
	} {
		if err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if sortOf(strange) != sortPages || sortOf(&Error{Err: ErrCorrupt}) != sortPages || sortOf(damaged(sortLog, "x")) != sortLog || whatOf(strange) != "strange" || whatOf(damaged(sortLog, "page %d", 3)) != "page 3" {
		t.Error("the kind of damage is missing")
	}
	if !constraint(sqlite3.Error{ExtendedCode: sqlite3.ErrConstraintUnique}) || constraint(sqlite3.Error{ExtendedCode: sqlite3.ErrConstraintCheck}) || constraint(strange) {
		t.Error("a breach of a unique index is not known")
	}
}

// TestLockFile: the holder of the store, and how often it was opened, as far as the file can be
// read.
func TestLockFile(t *testing.T) {
	for text, want := range map[string][2]int64{
		"": {}, "123\n": {123, 0}, "123\nopened 7\n": {123, 7}, "123 opened": {123, 0}, "0\nopened 0\n": {}, "-5\nopened -7\n": {}, "x\nopened y\n": {},
		"123\nclosed 7\n": {123, 0}, "2147483647\nopened 2147483647\n": {1<<31 - 1, 1<<31 - 1}, "2147483648\nopened 2147483648\n": {}, "010\nopened 010": {10, 10},
		strings.Repeat(" ", 61) + "123": {123, 0}, strings.Repeat(" ", 62) + "123": {12, 0},
	} {
		path := filepath.Join(t.TempDir(), "lock")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		l := &lock{file: f}
		if pid, opened := l.read(); int64(pid) != want[0] || opened != want[1] {
			t.Errorf("%q: pid %d, opened %d times, want %v", text, pid, opened, want)
		}
		l.opened = 3
		if err := errors.Join(l.write(), f.Close()); err != nil {
			t.Fatal(err)
		}
		if raw, _ := os.ReadFile(path); string(raw) != fmt.Sprintf("%d\nopened 3\n", os.Getpid()) {
			t.Errorf("written over %q: %q", text, raw)
		}
	}
	for pid, want := range map[int]string{0: "by another sluiced (one sluiced", 1: "by sluiced with pid 1 (see 'ps -fp 1'"} {
		if err := inUse("/x", pid); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), want) {
			t.Errorf("pid %d: %v", pid, err)
		}
	}
}

// TestHeaderOfAFile: valid and invalid values of SQLite's first 100 bytes.
func TestHeaderOfAFile(t *testing.T) {
	good := make([]byte, 100)
	copy(good, "SQLite format 3\x00")
	binary.BigEndian.PutUint16(good[16:], 4096)
	good[18], good[19], good[21], good[22], good[23] = 2, 2, 64, 32, 32
	with := func(change func(h []byte)) []byte {
		h := append([]byte(nil), good...)
		change(h)
		return h
	}
	size := func(n uint16) []byte { return with(func(h []byte) { binary.BigEndian.PutUint16(h[16:], n) }) }
	at := func(i int, b byte) []byte { return with(func(h []byte) { h[i] = b }) }
	for name, c := range map[string]struct {
		raw  []byte
		good bool
	}{
		"as it is": {good, true}, "new": {nil, true}, "longer": {append(good, 1), true}, "cut off": {good[:99], false}, "one byte": {good[:1], false},
		"pages of 64 KiB": {size(1), true}, "pages of 512 bytes": {size(512), true}, "of 256": {size(256), false}, "of 2": {size(2), false}, "of 513": {size(513), false}, "of 32768": {size(32768), true},
		"a rollback journal": {with(func(h []byte) { h[18], h[19] = 1, 1 }), true}, "another mode": {at(18, 3), false}, "none": {at(19, 0), false},
		"a letter": {at(15, 'x'), false}, "first letter": {at(0, 's'), false}, "20": {at(20, 1), false}, "21": {at(21, 63), false}, "22": {at(22, 31), false}, "23": {at(23, 33), false}, "24": {at(24, 9), true},
	} {
		path := filepath.Join(t.TempDir(), "db")
		if err := os.WriteFile(path, c.raw, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := checkHeader(path); (err == nil) != c.good || err != nil && (!errors.Is(err, ErrCorrupt) || sortOf(err) != sortHeader) {
			t.Errorf("%s: %v", name, err)
		}
		for n, passes := range map[int]bool{0: c.good, 1: true} { // SQLite restores it from its journal
			if err := os.WriteFile(path+"-journal", make([]byte, n), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := checkHeader(path); (err == nil) != passes {
				t.Errorf("%s, with a journal of %d bytes: %v", name, n, err)
			}
		}
	}
	if err := checkHeader(filepath.Join(t.TempDir(), "gone")); err == nil || errors.Is(err, ErrCorrupt) {
		t.Errorf("gone: %v", err)
	}
}

// TestFileModesAreChecked: folder and file are private to the daemon; a folder where others may
// write is not trusted.
func TestFileModesAreChecked(t *testing.T) {
	for _, c := range []struct {
		folder, file fs.FileMode
		foreign      bool
	}{
		{0o700, 0o600, false}, {0o750, 0o640, false}, {0o755, 0o644, false}, {0o701, 0o601, false}, {0o710, 0o660, false}, {0o704, 0o666, false},
		{0o720, 0o600, true}, {0o702, 0o600, true}, {0o777, 0o600, true},
	} {
		dir := filepath.Join(t.TempDir(), "state")
		path := filepath.Join(dir, "db")
		if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(path, nil, 0o600), os.Chmod(path, c.file), os.Chmod(dir, c.folder)); err != nil {
			t.Fatal(err)
		}
		err := prepareFolder(dir)
		if errors.Is(err, ErrForeign) != c.foreign || !c.foreign && err != nil {
			t.Errorf("%o: %v", c.folder, err)
		}
		if err := prepareFile(path); err != nil {
			t.Error(err)
		}
		want := fs.FileMode(0o700)
		if c.foreign {
			want = c.folder
		}
		a, _ := os.Stat(dir)
		b, _ := os.Stat(path)
		if a.Mode().Perm() != want || b.Mode().Perm() != 0o600 {
			t.Errorf("%o, %o: became %o, %o", c.folder, c.file, a.Mode().Perm(), b.Mode().Perm())
		}
	}
	deep := filepath.Join(t.TempDir(), "a", "b", "c")
	if err := errors.Join(prepareFolder(deep), prepareFile(deep+"/db"), prepareFile(deep+"/db")); err != nil {
		t.Error(err)
	}
	for dir := deep; strings.Contains(dir, "/a"); dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, info.Mode(), err)
		}
		if filepath.Base(dir) == "a" {
			break
		}
	}
	if info, err := os.Stat(deep + "/db"); err != nil || info.Mode().Perm() != 0o600 || info.Size() != 0 {
		t.Errorf("%v, %v", info, err)
	}
	if err := prepareFile(deep); !errors.Is(err, ErrForeign) {
		t.Errorf("a folder for a file: %v", err)
	}
}
