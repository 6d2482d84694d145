package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lock allows one command at a time to change a lab. It is an flock on a file in the
// directory, so it ends with the process that holds it. The daemons do not inherit it.
func lock(ctx context.Context, dir string) (unlock func(), err error) {
	path := layout(dir).join(".lock")
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil && sameFile(f, path) {
			return func() { f.Close() }, nil
		}
		f.Close()
		if err != nil && !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, err
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return nil, fmt.Errorf("%w: another lab command is running there", ErrInUse)
		}
	}
}

// sameFile reports whether path still names the open file: "lab down" removes
// the lock file while it holds it.
func sameFile(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist) && err == nil && os.SameFile(a, b)
}

// pause waits, or returns the context's error as soon as it ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
