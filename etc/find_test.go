package etc

import (
	"os"
	"path/filepath"
	"testing"
)

// Where a user has a sluiced beside the cluster's, both are named.
func TestRivals(t *testing.T) {
	base := t.TempDir()
	home, socket := filepath.Join(base, "home"), filepath.Join(base, "cluster.sock")
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	t.Setenv("SLUICE_CONF", "")
	had := systemFile
	systemFile = filepath.Join(base, "sluice.toml")
	t.Cleanup(func() { systemFile = had })
	if err := os.WriteFile(systemFile, []byte("[paths]\nsocket = \""+socket+"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	mine := UserDefaults(home).Paths.Socket
	expect := func(when, own, cluster string) {
		t.Helper()
		if a, b := Rivals(); a != own || b != cluster {
			t.Errorf("%s: %q and %q, want %q and %q", when, a, b, own, cluster)
		}
	}
	touch := func(path string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	expect("none", "", "")
	touch(socket)
	expect("the cluster's", "", "")
	touch(mine)
	expect("both", mine, socket)
	if c, _, err := Cluster(); err != nil || c.Paths.Socket != socket {
		t.Errorf("the cluster's: %q, %v", c.Paths.Socket, err)
	}
	if c, _, err := Current(false); err != nil || c.Paths.Socket != mine {
		t.Errorf("the choice: %q, %v", c.Paths.Socket, err)
	}
	t.Setenv("SLUICE_CONF", systemFile)
	expect("one is named", "", "")
}
