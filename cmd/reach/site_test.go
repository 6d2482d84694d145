package reach

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOwnSocket: --user never uses the cluster's sluiced, whose socket is open to all
// users.
func TestOwnSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sock")
	conf := filepath.Join(t.TempDir(), "sluice.toml")
	if err := os.WriteFile(conf, []byte("[paths]\nsocket = \""+path+"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SLUICE_CONF", conf)
	if _, err := Load("", true); err != nil {
		t.Errorf("none is there: %v", err)
	}
	for mode, refused := range map[os.FileMode]bool{0o600: false, 0o666: true} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := Load("", true); (err != nil) != refused || refused && !strings.Contains(err.Error(), "unset SLUICE_CONF") {
			t.Errorf("%o: %v", mode, err)
		}
		if _, err := Load("", false); err != nil {
			t.Errorf("%o, the cluster's: %v", mode, err)
		}
	}
}
