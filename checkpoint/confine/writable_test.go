package confine

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// TestLookForWays: pipes, sockets and folders by which data could leave through a read-only mount are found, wherever
// they lie, and nothing else is named.
func TestLookForWays(t *testing.T) {
	base := t.TempDir()
	at := func(parts ...string) string { return filepath.Join(append([]string{base}, parts...)...) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"soft/a/b", "soft/open", "sys/bin"} {
		must(os.MkdirAll(at(dir), 0o755))
	}
	must(os.Chmod(at("soft", "open"), 0o1777))
	must(os.WriteFile(at("soft", "file"), nil, 0o666))
	must(os.WriteFile(at("soft", "a", "other"), nil, 0o644))
	must(unix.Mkfifo(at("soft", "a", "b", "pipe"), 0o666))
	must(os.Symlink(at("soft", "a", "b", "pipe"), at("soft", "link")))
	l, err := net.Listen("unix", at("sys", "s"))
	must(err)
	defer l.Close()
	must(os.Symlink("sys/bin", at("bin")))
	f := Fence{Software: []string{at("soft")}, System: []string{at("bin"), at("sys"), at("none")}}
	got := LookForWays(context.Background(), f, 1000)
	if !slices.Equal(got.Ways, []string{at("soft", "a", "b", "pipe"), at("sys", "s")}) || !slices.Equal(got.Open, []string{at("soft", "open")}) || !got.Whole {
		t.Errorf("%+v", got)
	}
	if os.Getuid() == 0 {
		if len(got.Others) != 0 {
			t.Errorf("%+v", got)
		}
		must(os.Chown(at("soft", "a"), 1000, 0))
		must(os.Chown(at("sys", "bin"), 0, 1000))
		if got := LookForWays(context.Background(), f, 1000); !slices.Equal(got.Others, []string{at("soft", "a")}) {
			t.Errorf("%+v", got)
		}
		must(os.Chmod(at("sys", "bin"), 0o775))
		if got := LookForWays(context.Background(), f, 1000); !slices.Equal(got.Others, []string{at("soft", "a"), at("sys", "bin")}) {
			t.Errorf("%+v", got)
		}
	}
	if got := LookForWays(context.Background(), f, 3); got.Whole {
		t.Errorf("%+v", got)
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if got := LookForWays(over, f, 1000); got.Whole {
		t.Errorf("%+v", got)
	}
	must(os.Chmod(at("soft", "a", "b", "pipe"), 0o444))
	if got := LookForWays(context.Background(), f, 1000); os.Getuid() != 0 && len(got.Ways) != 1 {
		t.Errorf("%+v", got)
	}
}
