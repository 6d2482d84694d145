package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// exchanging swaps the two names repeatedly until the test ends.
func exchanging(t *testing.T, a, b string) *atomic.Int64 {
	t.Helper()
	if err := exchange(a, b); err != nil {
		t.Skipf("SKIPPED: this file system cannot exchange two names: %v", err)
	}
	var swaps atomic.Int64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if exchange(a, b) == nil {
				swaps.Add(1)
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-done })
	return &swaps
}

func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

// A folder that its owner exchanges for a FIFO between the check and the opening is
// refused: opening must never wait for a writer. A daemon that waits there would manage
// no jobs any more.
func TestFolderExchangedForAPipe(t *testing.T) {
	base := t.TempDir()
	folder, pipe := mkdir(t, filepath.Join(base, "folder")), filepath.Join(base, "pipe")
	put(t, filepath.Join(folder, "f"), "x")
	if err := mkfifo(pipe); err != nil {
		t.Fatal(err)
	}
	d := openDir(t, base)
	swaps := exchanging(t, folder, pipe)
	var opened, refused atomic.Int64
	done := make(chan error, 1)
	go func() {
		for deadline := time.Now().Add(time.Second); time.Now().Before(deadline); {
			sub, err := d.Owned("folder", me())
			switch {
			case err == nil:
				opened.Add(1)
				sub.Close()
			case errors.Is(err, ErrNotRegular):
				refused.Add(1)
			default:
				done <- err
				return
			}
		}
		done <- nil
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Errorf("waits for somebody to write into a pipe, after %d looks", opened.Load()+refused.Load())
		for _, p := range []string{folder, pipe} { // let it go
			if f, err := os.OpenFile(p, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
				f.Close()
			}
		}
	}
	t.Logf("%d exchanges; opened %d times, refused %d times", swaps.Load(), opened.Load(), refused.Load())
}
