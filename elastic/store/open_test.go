package store

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/store/contract"
)

// openIn lists the files in the folder that this process has open.
func openIn(t *testing.T, dir string) (out []string) {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range all {
		if name, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(name, dir) {
			out = append(out, strings.TrimPrefix(name, dir))
		}
	}
	return out
}

// TestARefusedStartLeavesNothingOpen: whatever keeps a store from being opened, no file and no
// lock of it is left in the process, and the store is opened once that is gone.
func TestARefusedStartLeavesNothingOpen(t *testing.T) {
	flock := func(t *testing.T, path string) func() {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		return func() { f.Close() }
	}
	change := func(t *testing.T, path, text string) {
		db, err := sql.Open("sqlite3", "file:"+path)
		if err == nil {
			_, err = db.ExecContext(context.WithoutCancel(t.Context()), text)
			err = errors.Join(err, db.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		want  error
		spoil func(t *testing.T, path string) (mend func())
	}{
		"another has the folder": {ErrInUse, func(t *testing.T, path string) func() { return flock(t, filepath.Dir(path)) }},
		"another has the file":   {ErrInUse, func(t *testing.T, path string) func() { return flock(t, path+".lock") }},
		"a newer schema": {ErrNewer, func(t *testing.T, path string) func() {
			change(t, path, "CREATE TABLE kept AS SELECT * FROM tally WHERE of = 'store'; DELETE FROM tally WHERE of = 'store'; PRAGMA user_version = 99")
			return func() {
				change(t, path, "INSERT INTO tally SELECT * FROM kept; DROP TABLE kept; PRAGMA user_version = 8")
			}
		}},
		"a move of a newer sluice": {ErrNewer, newerMove},
		"another program has the database": {ErrBusy, func(t *testing.T, path string) func() {
			db, err := sql.Open("sqlite3", "file:"+path+"?_locking_mode=EXCLUSIVE&_txlock=exclusive")
			if err != nil {
				t.Fatal(err)
			}
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			return func() { tx.Rollback(); db.Close() }
		}},
		"a link for the lock": {unix.ELOOP, func(t *testing.T, path string) func() {
			if err := errors.Join(os.Remove(path+".lock"), os.Symlink("elsewhere", path+".lock")); err != nil {
				t.Fatal(err)
			}
			return func() { os.Remove(path + ".lock") }
		}},
		"a folder for the database": {ErrForeign, func(t *testing.T, path string) func() {
			if err := errors.Join(os.Rename(path, path+".kept"), os.Mkdir(path, 0o700)); err != nil {
				t.Fatal(err)
			}
			return func() { os.Remove(path); os.Rename(path+".kept", path) }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filledIn(t, dir)
			mend := c.spoil(t, path)
			before := openIn(t, dir)
			for range 2 {
				if s, _, err := open(t.Context(), path, noon, 10*time.Millisecond); !errors.Is(err, c.want) || s != nil {
					t.Errorf("%v, want %v", err, c.want)
				}
			}
			// While this process holds a lock on the database, SQLite closes no file of it.
			if after := openIn(t, dir); c.want != ErrBusy && strings.Join(after, " ") != strings.Join(before, " ") {
				t.Errorf("open are %v, before %v", after, before)
			}
			mend()
			s, _, err := Open(t.Context(), path, noon)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Shutdown(); err != nil {
				t.Error(err)
			}
			if left := openIn(t, dir); len(left) > 0 {
				t.Errorf("after it was shut down %v are open", left)
			}
		})
	}
}

// newerMove leaves an open move of a kind that this sluice does not know.
func newerMove(t *testing.T, path string) func() {
	t.Helper()
	s := must(t, path)
	in := contract.Intent(2)
	in.ID, in.Job, in.Kind = 0, 2, "merge"
	opened, err := s.Intend(t.Context(), []elastic.Intent{in})
	if err := errors.Join(err, s.Shutdown()); err != nil {
		t.Fatal(err)
	}
	return func() { end(t, path, opened[0]) }
}

var errOutOfReach = errors.New("out of reach")

// TestAFolderBelowOneThatCannotBeListed: the daemon's account needs to list the folder that it
// makes one in, and none above, as where /home has mode 0711.
func TestAFolderBelowOneThatCannotBeListed(t *testing.T) {
	outer := t.TempDir()
	inner := filepath.Join(outer, "home")
	if err := errors.Join(os.Chmod(filepath.Dir(outer), 0o711), os.Mkdir(inner, 0o700)); err != nil {
		t.Fatal(err)
	}
	const nobody = 65534
	if os.Geteuid() == 0 {
		if err := os.Chown(inner, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(outer, 0o311); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(outer, 0o700) })
	made := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends here
		if os.Geteuid() == 0 {
			unix.Setfsuid(nobody) // root may list all folders
		}
		if _, err := os.Stat(inner); err != nil {
			made <- errOutOfReach
		} else if _, err := os.ReadDir(outer); err == nil {
			made <- errors.New("the folder above can be listed")
		} else {
			made <- prepareFolder(filepath.Join(inner, "a", "state"))
		}
	}()
	switch err := <-made; {
	case errors.Is(err, errOutOfReach):
		t.Skip("temporary files lie where other accounts cannot go")
	case err != nil:
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(inner, "a", "state")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
}
