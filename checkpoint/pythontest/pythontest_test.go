package pythontest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/checkpoint/pythontest"
)

func TestFind(t *testing.T) {
	base := t.TempDir()
	venv := filepath.Join(base, "cache", "sluice", "frameworks")
	python := filepath.Join(venv+"-1", "bin", "python")
	if err := os.MkdirAll(filepath.Dir(python), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Base(venv+"-1"), venv); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(python, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		env  map[string]string
		want string // "" = an error
	}{
		{"named", map[string]string{pythontest.PlaceEnv: venv}, python},
		{"named wrongly: no other is taken", map[string]string{pythontest.PlaceEnv: base, "XDG_CACHE_HOME": filepath.Join(base, "cache")}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := pythontest.Find(func(name string) string { return tc.env[name] })
			if got != tc.want || (err == nil) != (tc.want != "") {
				t.Errorf("%q, %v; want %q", got, err, tc.want)
			}
			if err != nil && !strings.Contains(err.Error(), "etc/install-frameworks") {
				t.Errorf("does not say what to type: %v", err)
			}
		})
	}
	// Root's comes before the user's, and may or may not be on this machine.
	for _, env := range []map[string]string{{"XDG_CACHE_HOME": filepath.Join(base, "cache"), "HOME": "/nowhere"}, {"HOME": base}} {
		if env["HOME"] == base {
			if err := os.Rename(filepath.Join(base, "cache"), filepath.Join(base, ".cache")); err != nil {
				t.Fatal(err)
			}
		}
		got, err := pythontest.Find(func(name string) string { return env[name] })
		if err != nil || !strings.Contains(got, "/sluice/frameworks-") || !strings.HasSuffix(got, "/bin/python") {
			t.Errorf("with %v: %q, %v", env, got, err)
		}
	}
}
