package checkpoint

import (
	"os"
	"path/filepath"
	"testing"
)

// What an NFS client shows of a file that was removed while it was open is no file of a
// checkpoint, nor of a program's own, and goes with an unfinished one.
func TestRemovedButOpen(t *testing.T) {
	base := t.TempDir()
	for _, name := range []string{"weights", ".nfs0000000000000a2b00000001", "model/.nfs0000000000000a2c00000002", "model/.nfsmount"} {
		put(t, filepath.Join(base, "00000001", name), "x")
	}
	dir := openDir(t, base)
	tree, err := dir.Tree("00000001")
	if err != nil {
		t.Fatal(err)
	}
	s := NewSeries(dir, Identity{Job: 7, Token: token})
	if err := s.Commit(t.Context(), "00000001", Manifest{Created: noon, GPUs: 1}); err != nil {
		t.Fatal(err)
	}
	c, err := s.Verify(t.Context(), "00000001")
	if err != nil {
		t.Fatal(err)
	}
	var listed, found []string
	for _, f := range c.Manifest.Files {
		listed = append(listed, f.Path)
	}
	for _, e := range tree.Entries {
		found = append(found, e.Path)
	}
	for _, names := range [][]string{listed, found} {
		if len(names) != 2 || names[0] != "model/.nfsmount" || names[1] != "weights" {
			t.Errorf("files %q", names)
		}
	}
	put(t, filepath.Join(base, "00000000", ".nfs0000000000000a2b00000001"), "x")
	if _, err := s.Prune(c, 1); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(base, "00000000")); err == nil {
		t.Error("an unfinished checkpoint is still there")
	}
}
