package checkpoint_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sluice-hpc/sluice/checkpoint"
)

func open(t *testing.T, name string) *checkpoint.Dir {
	t.Helper()
	d, err := checkpoint.OpenDir(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func put(t *testing.T, name, words string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(words), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func inode(t *testing.T, name string) uint64 {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Ino
}

// TestAdoptAndPutBack: taken into the series, verified, put back, linked or
// copied, as a folder or as one file.
func TestAdoptAndPutBack(t *testing.T) {
	for _, copied := range []bool{false, true} {
		for _, name := range []string{"ckpt-5", "model.pt"} {
			own, saved := t.TempDir(), t.TempDir()
			first := put(t, filepath.Join(own, "ckpt-5", "a"), "alpha")
			put(t, filepath.Join(own, "ckpt-5", "deep", "er", "b"), "beta")
			file := put(t, filepath.Join(own, "model.pt"), "gamma")
			from, series := open(t, own), checkpoint.NewSeries(open(t, saved), checkpoint.Identity{Job: 7, Token: "0123456789abcdef0123456789abcdef"})
			tree, err := from.Tree(name)
			if err != nil || tree.Plain != (name == "model.pt") {
				t.Fatal(tree, err)
			}
			a := checkpoint.Adoption{Tree: tree, Copy: copied, Request: func() string { return "r9" },
				Manifest: checkpoint.Manifest{Step: 5, Created: tree.Newest(), GPUs: 2}}
			got, err := series.Adopt(t.Context(), from, name, a)
			if err != nil || got != "00000001" {
				t.Fatal(got, err)
			}
			c, err := series.Verify(t.Context(), got)
			if err != nil || c.Manifest.Request != "r9" || c.Manifest.Step != 5 {
				t.Fatal(c, err)
			}
			original, twin := first, filepath.Join(saved, got, "a")
			if tree.Plain {
				original, twin = file, filepath.Join(saved, got, "model.pt")
			}
			if same := inode(t, original) == inode(t, twin); same == copied {
				t.Errorf("%s, copied %v: one file %v", name, copied, same)
			}
			if same, err := series.Same(t.Context(), c, from, name); !same || err != nil {
				t.Error(same, err)
			}
			if err := os.RemoveAll(filepath.Join(own, name)); err != nil {
				t.Fatal(err)
			}
			if same, err := series.Same(t.Context(), c, from, name); same || err != nil {
				t.Error(same, err)
			}
			if err := series.PutBack(t.Context(), c, from, name, tree.Plain, copied); err != nil {
				t.Fatal(err)
			}
			if same, err := series.Same(t.Context(), c, from, name); !same || err != nil {
				t.Error(same, err)
			}
			again, err := from.Tree(name)
			if err != nil || again.Print() != tree.Print() {
				t.Errorf("put back, it looks like another: %v", err)
			}
			if err := series.PutBack(t.Context(), c, from, name, tree.Plain, copied); !errors.Is(err, os.ErrExist) {
				t.Errorf("over what is there: %v", err)
			}
			if left, _ := os.ReadDir(own); len(left) != 2 {
				t.Errorf("left behind: %v", left)
			}
		}
	}
}

// TestAdoptChanged: a checkpoint that is written to meanwhile is not adopted, and
// nothing is left of the attempt.
func TestAdoptChanged(t *testing.T) {
	own, saved := t.TempDir(), t.TempDir()
	put(t, filepath.Join(own, "c-1", "a"), "alpha")
	from, series := open(t, own), checkpoint.NewSeries(open(t, saved), checkpoint.Identity{Job: 7, Token: "0123456789abcdef0123456789abcdef"})
	tree, err := from.Tree("c-1")
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(own, "c-1", "b"), "more")
	if _, err := series.Adopt(t.Context(), from, "c-1", checkpoint.Adoption{Tree: tree}); !errors.Is(err, checkpoint.ErrChanged) {
		t.Errorf("a file more: %v", err)
	}
	put(t, filepath.Join(own, "c-2", checkpoint.ManifestFile), "the program's own")
	if tree, err = from.Tree("c-2"); err != nil {
		t.Fatal(err)
	}
	if _, err := series.Adopt(t.Context(), from, "c-2", checkpoint.Adoption{Tree: tree}); !errors.Is(err, checkpoint.ErrName) {
		t.Errorf("a manifest of its own: %v", err)
	}
	if tree, err = from.Tree("c-1"); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := series.Adopt(ended, from, "c-1", checkpoint.Adoption{Tree: tree, Copy: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if left, _ := os.ReadDir(saved); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestTreeIsBounded: folders that go too deep are refused, not followed for ever.
func TestTreeIsBounded(t *testing.T) {
	own := t.TempDir()
	deep := filepath.Join(own, "c")
	for range 40 {
		deep = filepath.Join(deep, "d")
	}
	put(t, filepath.Join(deep, "a"), "")
	if _, err := open(t, own).Tree("c"); !errors.Is(err, checkpoint.ErrUnbounded) {
		t.Errorf("%v", err)
	}
	if err := os.Symlink("c", filepath.Join(own, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, own).Tree("link"); !errors.Is(err, checkpoint.ErrNotRegular) {
		t.Errorf("followed a link: %v", err)
	}
	if _, _, err := open(t, own).Reach("link/d"); !errors.Is(err, checkpoint.ErrNotRegular) {
		t.Errorf("reached through a link: %v", err)
	}
}
