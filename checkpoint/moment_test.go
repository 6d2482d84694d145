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

	"github.com/sluice-hpc/sluice/checkpoint/disktest"
)

var errWaited = errors.New("waited for somebody to write into a pipe")

// betweenLookAndOpen reads the file f while change is done to its path in the one
// moment that counts: it was looked at, and the kernel is about to open it. What waits
// for somebody to write into a pipe is let go after a while, and an error of its own.
func betweenLookAndOpen(t *testing.T, change func(p string) error) ([]byte, error) {
	t.Helper()
	root := disktest.Scratch(t)
	p := filepath.Join(root, "f")
	put(t, p, "honest")
	put(t, filepath.Join(root, "g"), "another")
	d := openDir(t, root)
	var changed, waited atomic.Bool
	over := make(chan struct{})
	w := &disktest.Watch{Root: root, Reads: true, Seen: func(c disktest.Call) unix.Errno {
		if c.Kind == "read" && c.File == p && changed.CompareAndSwap(false, true) {
			if err := errors.Join(os.Remove(p), change(p)); err != nil {
				t.Error(err)
			}
			go func() {
				select {
				case <-over:
				case <-time.After(20 * time.Second):
					if f, err := os.OpenFile(p, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
						waited.Store(true)
						f.Close()
					}
				}
			}()
		}
		return 0
	}}
	var data []byte
	var err error
	w.Do(t, func() {
		data, err = d.Read("f", 100)
		close(over)
	})
	if !changed.Load() {
		t.Fatal("it was never opened")
	}
	if waited.Load() {
		return nil, errWaited
	}
	return data, err
}

// Whatever takes a file's place after it was looked at, and before it is opened, is
// neither waited for nor read; another file of the job's is looked at afresh.
func TestChangedBetweenLookAndOpen(t *testing.T) {
	for name, change := range map[string]func(p string) error{
		"pipe":        mkfifo,
		"folder":      func(p string) error { return os.Mkdir(p, 0o755) },
		"link out":    func(p string) error { return os.Symlink("/etc/hostname", p) },
		"link inside": func(p string) error { return os.Symlink("g", p) },
	} {
		t.Run(name, func(t *testing.T) {
			data, err := betweenLookAndOpen(t, change)
			if err == nil || errors.Is(err, errWaited) {
				t.Errorf("%q, %v", data, err)
			}
		})
	}
	data, err := betweenLookAndOpen(t, func(p string) error { return os.WriteFile(p, []byte("replaced"), 0o644) })
	if string(data) != "replaced" || err != nil {
		t.Errorf("a file that its writer replaced: %q, %v", data, err)
	}
}
