package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluice-hpc/sluice/checkpoint/disktest"
)

// snapshot reads the files of a store, by suffix.
func snapshot(t *testing.T, path string) image {
	t.Helper()
	m := image{}
	for _, suffix := range append([]string{".lock"}, beside...) {
		raw, err := os.ReadFile(path + suffix)
		switch {
		case err == nil:
			m[suffix] = raw
		case !errors.Is(err, os.ErrNotExist):
			t.Fatal(err)
		}
	}
	return m
}

// A daemon is killed before every call while it sets a damaged store aside. What it leaves
// never opens as if nothing had been lost: the next start reports what is missing and begins an
// empty store, or finds the empty one that was begun already.
func TestKilledWhileSettingAside(t *testing.T) {
	m, before := full(t, true)
	claim, _, err := readIndexOf(t, m)
	if err != nil {
		t.Fatal(err)
	}
	used := logHeader + int(claim.frames)*(frameHeader+4096) // after it are frames of an earlier round
	for _, c := range []struct {
		name   string
		damage func(image)
	}{
		{"the log is cut off", func(m image) { m["-wal"] = m["-wal"][:used/2] }},
		{"the log is damaged", func(m image) { m["-wal"][used/2] ^= 1 }},
		{"the database is damaged", func(m image) { copy(m[""], "this is no database at all") }},
	} {
		root := disktest.Scratch(t)
		if err := m.write(root, flip{}); err != nil {
			t.Fatal(err)
		}
		path := newStory(root).path
		hurt := snapshot(t, path)
		c.damage(hurt)
		if err := hurt.write(root, flip{}); err != nil {
			t.Fatal(err)
		}
		left, moves := []image{}, 0
		w := &disktest.Watch{Root: root, Seen: func(d disktest.Call) unix.Errno {
			if d.Kind == "rename" && strings.Contains(filepath.Base(d.To), ".corrupt-") {
				moves++
			}
			left = append(left, snapshot(t, path))
			return 0
		}}
		var empty string
		w.Do(t, func() {
			var notices []string
			var err error
			if empty, notices, err = opened(root); err != nil || len(notices) != 1 {
				t.Errorf("%s: %v, notices %q", c.name, err, notices)
			}
		})
		if moves != 3 || empty == before { // the database, its log and the log's index
			t.Fatalf("%s: %d files were set aside", c.name, moves)
		}
		began := false // an empty one exists
		for n, files := range left {
			if err := files.write(root, flip{}); err != nil {
				t.Fatal(err)
			}
			said, notices, err := opened(root)
			began = began || n > 0 && len(left[n-1][""]) == 0 && len(files[""]) > 0
			if err != nil || said != empty || len(notices) == 0 && !began {
				t.Errorf("%s, killed at call %d of %d: %v, notices %q\n%s", c.name, n, len(left), err, notices, said)
			}
		}
	}
}
