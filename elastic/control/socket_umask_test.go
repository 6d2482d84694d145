package control_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/control/controltest"
)

// A daemon started by hand has its user's umask. Its socket is reachable all the same; an
// existing folder keeps its mode.
func TestSocketIgnoresUmask(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	path := serve(t, options(), controltest.New())
	had := filepath.Join(t.TempDir(), "had")
	if err := os.Mkdir(had, 0o750); err != nil {
		t.Fatal(err)
	}
	old750 := filepath.Join(had, "sluiced.sock")
	if err := os.Chmod(had, 0o750); err != nil {
		t.Fatal(err)
	}
	open(t, old750, options(), controltest.New())
	for file, want := range map[string]os.FileMode{path: 0o666, filepath.Dir(path): 0o755, old750: 0o666, had: 0o750} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v, want %v", file, info.Mode().Perm(), err, want)
		}
	}
}
