package checkpoint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/sys/unix"

	"github.com/sluice-hpc/sluice/checkpoint/disktest"
)

// refusing runs f while the calls from number first on, as many as given, fail with EIO. It
// returns how many there were in all, and which failed first.
func refusing(t *testing.T, root string, first, many int, f func()) (calls int, failed string) {
	t.Helper()
	w := &disktest.Watch{Root: root, Reads: true, Seen: func(c disktest.Call) unix.Errno {
		calls++
		if calls < first || calls >= first+many {
			return 0
		}
		if failed == "" {
			failed = c.Kind + " " + c.File
		}
		return unix.EIO
	}}
	w.Do(t, f)
	return calls, failed
}

// nested returns a series of as many checkpoints as asked for, each with a file two folders
// below its own.
func nested(t *testing.T, many int) (*Series, string) {
	t.Helper()
	root := disktest.Scratch(t)
	s := NewSeries(openDir(t, root), job)
	for i := range many {
		put(t, filepath.Join(root, Name(i+1), "rank0", "optim", "state.bin"), "moments")
		save(t, s, root, i+1)
	}
	return s, root
}

// A call that fails once costs nothing: the newest checkpoint is still found. One that
// fails again and again is said, and nothing is taken for valid.
func TestNewestWhileCallsFail(t *testing.T) {
	s, root := nested(t, 2)
	var c Checkpoint
	var skipped []Skip
	var err error
	look := func() { c, skipped, err = s.Newest(t.Context()) }
	all, _ := refusing(t, root, 0, 0, look)
	if err != nil || c.Name != Name(2) || len(skipped) != 0 {
		t.Fatalf("%q, %v, %v", c.Name, skipped, err)
	}
	for n := 1; n <= all; n++ {
		if _, failed := refusing(t, root, n, 1, look); err == nil && (c.Name != Name(2) || len(skipped) != 0) {
			t.Errorf("%s failed once: %q, %v", failed, c.Name, skipped)
		}
		if _, failed := refusing(t, root, n, 1<<30, look); err == nil && (c.Name != "" || len(skipped) != 2) {
			t.Errorf("all from %s on failed: %q, %v", failed, c.Name, skipped)
		}
		// One look and its repetition fail, and no other.
		if _, failed := refusing(t, root, n, 2, look); err == nil && c.Name == "" {
			t.Errorf("two from %s on failed: %v", failed, skipped)
		}
	}
}

// A checkpoint that Prune says it removed is gone, and one that is to stay stays, whatever
// fails: what cannot be read now may be whole.
func TestPruneWhileCallsFail(t *testing.T) {
	for n, all := 0, 1; n <= all; n++ {
		s, root := nested(t, 4)
		os.Remove(filepath.Join(root, Name(1), ManifestFile)) // never finished
		newest, err := s.Verify(t.Context(), Name(4))
		if err != nil {
			t.Fatal(err)
		}
		var removed []string
		calls, failed := refusing(t, root, n, min(n, 1), func() { removed, err = s.Prune(newest, 2) })
		if n == 0 {
			all = calls
		}
		left, _ := s.Names()
		// A folder whose removal as a file fails is removed as a folder.
		if (err == nil) != (n == 0) && !strings.HasPrefix(failed, "remove ") {
			t.Errorf("%s failed: removed %v, %v", failed, removed, err)
		}
		for _, name := range removed {
			if slices.Contains(left, name) {
				t.Errorf("%s failed: %s is called removed and is there", failed, name)
			}
		}
		for i, name := range []string{Name(4), Name(3), Name(2)} {
			_, err := s.Verify(t.Context(), name)
			if err != nil && (i < 2 || slices.Contains(left, name) && !errors.Is(err, ErrUnfinished)) {
				t.Errorf("%s failed: %s: %v", failed, name, err)
			}
		}
	}
}

// Commit says whatever fails, and then there is no checkpoint, or a whole one.
func TestCommitWhileCallsFail(t *testing.T) {
	for n, all := 0, 1; n <= all; n++ {
		s, root := nested(t, 1)
		put(t, filepath.Join(root, Name(2), "rank0", "optim", "state.bin"), "moments")
		var err error
		calls, failed := refusing(t, root, n, min(n, 1), func() {
			err = s.Commit(t.Context(), Name(2), Manifest{Created: noon, GPUs: 1})
		})
		if n == 0 {
			all = calls
		}
		if (err == nil) != (n == 0) {
			t.Errorf("%s failed: %v", failed, err)
		}
		if _, err := s.Verify(t.Context(), Name(2)); err != nil && !errors.Is(err, ErrUnfinished) {
			t.Errorf("%s failed: %v", failed, err)
		}
	}
}

// Nothing that would be refused later is committed.
func TestCommitRefuses(t *testing.T) {
	s, root := series(t)
	put(t, filepath.Join(root, Name(1), "model.pt"), "weights")
	for what, m := range map[string]Manifest{
		"no number":  {Created: noon, GPUs: 1, Epoch: math.NaN()},
		"from never": {GPUs: 1, Epoch: -1},
	} {
		if err := s.Commit(t.Context(), Name(1), m); err == nil {
			t.Errorf("%s: committed", what)
		}
	}
	for _, name := range []string{Name(2), "1", "../" + Name(1)} { // not there; not names
		if err := s.Commit(t.Context(), name, Manifest{Created: noon, GPUs: 1}); err == nil {
			t.Errorf("%s: committed", name)
		}
	}
	if name, _ := newest(t, s); name != "" {
		t.Errorf("there is %s", name)
	}
}

// The manifest lists the files and nothing of ours, in the order of their names, however
// often they are committed.
func TestCommitLists(t *testing.T) {
	s, root := series(t)
	for _, file := range []string{"a/b", "a.b", "z" + tempSuffix} {
		put(t, filepath.Join(root, Name(1), file), file)
	}
	for range 2 {
		if err := s.Commit(t.Context(), Name(1), Manifest{Created: noon, GPUs: 1}); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(filepath.Join(root, Name(1), ManifestFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	m, err := s.Manifest(Name(1))
	if err != nil || len(m.Files) != 2 || m.Files[0].Path != "a.b" || m.Files[1].Path != "a/b" {
		t.Errorf("%+v, %v", m.Files, err)
	}
}

// Names come newest first, in whatever order the folder has them.
func TestNamesNewestFirst(t *testing.T) {
	s, root := series(t)
	for _, n := range []int{3, 1, 4, 2, 5, 10, 9} {
		mkdir(t, filepath.Join(root, Name(n)))
	}
	want := []string{Name(10), Name(9), Name(5), Name(4), Name(3), Name(2), Name(1)}
	if names, err := s.Names(); err != nil || !slices.Equal(names, want) {
		t.Errorf("%v, %v", names, err)
	}
	if _, err := s.Manifest(Name(77)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the manifest of one that is not there: %v", err)
	}
}

// What a checkpoint lacks makes it invalid for good, and is not tried again; what may have
// been the file system's is.
func TestTransient(t *testing.T) {
	for _, err := range []error{ErrInvalid, ErrUnfinished, ErrTooNew, ErrNotRegular, fs.ErrNotExist, fs.ErrPermission} {
		if transient(fmt.Errorf("a: %w", err)) {
			t.Errorf("%v would be tried again", err)
		}
	}
	if !transient(fmt.Errorf("a: %w", unix.EIO)) {
		t.Error("EIO would not be tried again")
	}
	s, root := series(t)
	name := save(t, s, root, 1)
	for _, file := range []string{"optim/state.bin", "optim", "model.pt"} {
		if err := os.RemoveAll(filepath.Join(root, name, file)); err != nil {
			t.Fatal(err)
		}
		if file == "model.pt" {
			mkdir(t, filepath.Join(root, name, file))
		}
		if _, err := s.Verify(t.Context(), name); !errors.Is(err, ErrInvalid) {
			t.Errorf("without %s: %v", file, err)
		}
	}
	if got, want := (Skip{name, errors.New("torn\nin two")}).String(), name+": torn in two"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The sum is of the whole file, or there is none.
func TestSumOf(t *testing.T) {
	content := make([]byte, 5<<19)
	content[len(content)-1] = 1
	want := sha256.Sum256(content)
	size, sum, err := sumOf(t.Context(), bytes.NewReader(content))
	if err != nil || size != int64(len(content)) || sum != hex.EncodeToString(want[:]) {
		t.Errorf("%d bytes, %s, %v", size, sum, err)
	}
	if _, sum, err := sumOf(t.Context(), iotest.TimeoutReader(bytes.NewReader(content))); !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("a read failed: %q, %v", sum, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, sum, err := sumOf(ctx, bytes.NewReader(content)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %q, %v", sum, err)
	}
}

// A removal leaves no file open: a runner prunes for weeks.
func TestPruneKeepsNothingOpen(t *testing.T) {
	s, root := series(t)
	open := func() int {
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(fds)
	}
	before := open()
	for i := range 20 {
		save(t, s, root, i+1)
	}
	c, _, err := s.Newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if removed, err := s.Prune(c, 1); err != nil || len(removed) != 19 {
		t.Fatalf("%v, %v", removed, err)
	}
	if now := open(); now > before+5 {
		t.Errorf("%d files are open, %d before", now, before)
	}
}
