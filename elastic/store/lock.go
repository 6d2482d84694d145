package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// lock is a store's lock. It is on the folder, which stays even if a person removes a lock file
// that looks stale, and on a file that says which process has it. The kernel drops both with
// the process, however it ends. The file stays, since removing it would let two processes lock
// two files of the same name.
type lock struct {
	folder, file *os.File
	opened       int64 // how often the store was opened before, according to the file
}

// takeLock makes this process the only daemon on the store at path.
//
// It never waits. The folder is locked first, then the file; both MUST be had, since a person may
// have removed the file, and NFS has no locks on folders. If the store is held, the error is
// ErrInUse and names the pid that the file has, if it has one. A folder that cannot be locked for
// another reason is left unlocked, and the file decides.
func takeLock(path string) (*lock, error) {
	l := &lock{}
	var err error
	if l.folder, err = os.Open(filepath.Dir(path)); err != nil {
		return nil, explain("lock", path, err)
	}
	if l.file, err = os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600); err != nil {
		l.folder.Close()
		return nil, explain("lock", path+".lock", err)
	}
	if err := exclusive(l.folder); errors.Is(err, unix.EWOULDBLOCK) { // NFS has no locks on folders
		defer l.release()
		pid, _ := l.read()
		return nil, inUse(path, pid)
	}
	if err := exclusive(l.file); err != nil {
		defer l.release()
		if errors.Is(err, unix.EWOULDBLOCK) {
			pid, _ := l.read()
			return nil, inUse(path, pid)
		}
		return nil, explain("lock", path, err)
	}
	_, l.opened = l.read()
	if err := l.write(); err != nil {
		l.release()
		return nil, explain("lock", path+".lock", err)
	}
	return l, nil
}

// exclusive locks an open file or folder, or returns EWOULDBLOCK at once. The lock belongs to the
// open file: it ends when that is closed, or with the process.
func exclusive(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// release drops the lock. The caller MUST have closed the database BEFORE that.
func (l *lock) release() error { return errors.Join(l.file.Close(), l.folder.Close()) }

// inUse returns the ErrInUse of a store that the process pid holds; 0 = which one is not known.
func inUse(path string, pid int) error {
	who := "another sluiced"
	hint := "one sluiced a store: stop the other, or give this one its own [paths] state"
	if pid > 0 {
		who = fmt.Sprintf("sluiced with pid %d", pid)
		hint = fmt.Sprintf("see 'ps -fp %d'; one sluiced a store: stop the other, or give this one its own [paths] state", pid)
	}
	return &Error{Op: "open", Path: path, Err: ErrInUse, Text: "by " + who, Hint: hint}
}

// read returns what the file says: the holder's pid, and how often the store was opened; 0 for
// what cannot be read.
//
//	4711         the pid
//	opened 12    how often the store was opened
func (l *lock) read() (pid int, opened int64) {
	raw, err := io.ReadAll(io.NewSectionReader(l.file, 0, 64))
	if err != nil {
		return 0, 0
	}
	words := strings.Fields(string(raw))
	if len(words) > 0 {
		pid = int(positive(words[0]))
	}
	if len(words) > 2 && words[1] == "opened" {
		opened = positive(words[2])
	}
	return pid, opened
}

// positive reads a plausible count, 0 for anything else.
func positive(word string) int64 {
	n, err := strconv.ParseInt(word, 10, 32)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// write replaces the file's text. Each number ends with a newline, so what a crash leaves of a
// longer old text does not become part of one. The file is not synced: after a power loss its
// count may be too low, which can only suppress a notice.
func (l *lock) write() error {
	text := fmt.Sprintf("%d\nopened %d\n", os.Getpid(), l.opened)
	if _, err := l.file.WriteAt([]byte(text), 0); err != nil {
		return err
	}
	return l.file.Truncate(int64(len(text)))
}
