package checkpoint

import (
	"os"
	"path/filepath"
	"testing"
)

// A write puts a new file in the old one's place and leaves the old one as it was: who
// has it open reads on what he began to read, and a crash in between tears nothing.
func TestWriteLeavesTheOldFileAlone(t *testing.T) {
	base := t.TempDir()
	d := openDir(t, base)
	if err := d.Write("f", []byte("what was"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(base, "f"), filepath.Join(base, "old")); err != nil {
		t.Fatal(err)
	}
	if err := d.Write("f", []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	if old, now := slurp(t, filepath.Join(base, "old")), slurp(t, filepath.Join(base, "f")); old != "what was" || now != "new" {
		t.Errorf("the old file holds %q, the new one %q", old, now)
	}
}
