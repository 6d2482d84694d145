package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// start runs sluiced with a state folder of its own and no Slurm at all: it comes as
// far as its database, and says why it went no further.
func start(t *testing.T, dir string, args ...string) string {
	t.Helper()
	conf := filepath.Join(dir, "sluice.toml")
	text := fmt.Sprintf("[paths]\nstate = %q\njobs = %q\noutbox = %q\nsocket = %q\n[slurm]\nbin = %q\n", filepath.Join(dir, "state"),
		filepath.Join(dir, "jobs"), filepath.Join(dir, "outbox"), filepath.Join(dir, "run", "sock"), filepath.Join(dir, "no-slurm"))
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "sluiced"), append(args, "--config", conf)...).CombinedOutput()
	if err == nil {
		t.Fatalf("sluiced ended well without a Slurm: %s", out)
	}
	return string(out)
}

// Root is refused before anything is opened or made, whatever the order of the words.
func TestRootIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can be refused as root")
	}
	for _, args := range [][]string{nil, {"--user"}} {
		dir := t.TempDir()
		if out := start(t, dir, args...); !strings.Contains(out, "refusing to run as root") || !strings.Contains(out, "sluiced.service") {
			t.Errorf("%v: %s", args, out)
		}
		if names, _ := filepath.Glob(dir + "/*"); len(names) != 1 {
			t.Errorf("%v: made %v", args, names)
		}
	}
}

// At every start the state folder and the database are the daemon's alone: made so,
// closed when they were open to read, and refused when others could write.
func TestStateIsClosedAtEveryStart(t *testing.T) {
	args := []string{}
	if os.Geteuid() == 0 {
		args = append(args, "--lab")
	}
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	database := filepath.Join(state, "sluice.db")
	for round, perm := range []os.FileMode{0, 0o755, 0o750, 0o711} {
		if perm != 0 {
			for path, mode := range map[string]os.FileMode{state: perm, database: 0o644} {
				if err := os.Chmod(path, mode); err != nil {
					t.Fatal(err)
				}
			}
		}
		start(t, dir, args...)
		for path, want := range map[string]os.FileMode{state: 0o700, database: 0o600, database + ".lock": 0o600} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
				t.Errorf("start %d, folder %v before: %s has mode %v, want %v: %v", round, perm, path, info.Mode().Perm(), want, err)
			}
		}
	}
	for _, perm := range []os.FileMode{0o777, 0o770, 0o1777} {
		if err := os.Chmod(state, perm); err != nil {
			t.Fatal(err)
		}
		if out := start(t, dir, args...); !strings.Contains(out, "chmod 700") || !strings.Contains(out, "others may write") {
			t.Errorf("mode %v: %s", perm, out)
		}
	}
}
