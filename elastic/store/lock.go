package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// lockFile makes this process the only daemon on a store. The kernel drops the
// lock with the process, however it ends; the file stays, since removing it
// would let two processes lock two files of the same name.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, explain("lock", path, err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, inUse(path, holder(f))
		}
		return nil, explain("lock", path, err)
	}
	if err := writePID(f); err != nil {
		f.Close()
		return nil, explain("lock", path, err)
	}
	return f, nil
}

func inUse(path string, pid int) error {
	who := "another sluiced"
	hint := "one sluiced a store: stop the other, or give this one its own [paths] state"
	if pid > 0 {
		who = fmt.Sprintf("sluiced with pid %d", pid)
		hint = fmt.Sprintf("see 'ps -fp %d'; one sluiced a store: stop the other, or give this one its own [paths] state", pid)
	}
	return &Error{Op: "open", Path: strings.TrimSuffix(path, ".lock"), Err: ErrInUse, Text: "by " + who, Hint: hint}
}

// holder returns the pid the lock's holder wrote, 0 when it cannot be read.
func holder(f *os.File) int {
	raw, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil || pid < 1 {
		return 0
	}
	return pid
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}
