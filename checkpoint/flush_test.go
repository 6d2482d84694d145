package checkpoint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluice-hpc/sluice/checkpoint/disktest"
)

// TestCommitStandsOnEveryFlush: a checkpoint does not exist where the disk did not take one
// of its files, or a folder below it: no manifest is written, and the one before stands.
func TestCommitStandsOnEveryFlush(t *testing.T) {
	root := disktest.Scratch(t)
	dir := openDir(t, root)
	s := NewSeries(dir, job)
	// commit commits a checkpoint of three files, while the flush number fail does not
	// succeed; it returns the number of flushes.
	commit := func(sequence, fail int) (flushes int, failed string, err error) {
		t.Helper()
		folder := filepath.Join(root, Name(sequence))
		for _, file := range []string{"model.pt", "rank0/optimizer.pt", "rank1/optimizer.pt"} {
			os.MkdirAll(filepath.Dir(filepath.Join(folder, file)), 0o755)
			if err := os.WriteFile(filepath.Join(folder, file), []byte(file), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		w := &disktest.Watch{Root: root, Seen: func(c disktest.Call) unix.Errno {
			if c.Kind != "sync" {
				return 0
			}
			if flushes++; flushes == fail {
				failed = strings.TrimPrefix(c.File, root)
				return unix.EIO
			}
			return 0
		}}
		w.Do(t, func() {
			err = s.Commit(t.Context(), Name(sequence), Manifest{Step: int64(sequence), Created: noon, GPUs: 2})
		})
		return flushes, failed, err
	}
	flushes, _, err := commit(1, 0)
	if err != nil || flushes < 3+2+1 { // files, folders, the manifest
		t.Fatalf("%d flushes, %v", flushes, err)
	}
	for n := 1; n <= flushes; n++ {
		_, failed, err := commit(n+1, n)
		if err == nil {
			t.Errorf("committed, though %s was not flushed", failed)
		}
		c, _, err := s.Newest(t.Context())
		// The names are flushed last: the manifest then exists, but its commit was not
		// acknowledged.
		if named := failed == "" || strings.HasSuffix(failed, Name(n+1)); err != nil || c.Name != Name(1) && !named {
			t.Errorf("%s was not flushed: the newest is %q, %v", failed, c.Name, err)
		}
		os.RemoveAll(filepath.Join(root, Name(n+1)))
	}
}
