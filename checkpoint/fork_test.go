package checkpoint

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestFork: another series' checkpoint becomes one of this series, as links to the same files; one that is
// damaged does not, and leaves nothing; and the parent's may be pruned afterwards.
func TestFork(t *testing.T) {
	base := t.TempDir()
	parent, child := mkdir(t, filepath.Join(base, "parent")), mkdir(t, filepath.Join(base, "child"))
	from, to := NewSeries(openDir(t, parent), Identity{7, token}), NewSeries(openDir(t, child), Identity{7, other})
	put(t, filepath.Join(parent, "00000003", "state"), "weights")
	put(t, filepath.Join(parent, "00000003", "parts", "a"), "a tensor")
	if err := from.Commit(t.Context(), "00000003", Manifest{Step: 40, Epoch: 4, Created: noon, Restarts: 2, Request: "r-1"}); err != nil {
		t.Fatal(err)
	}
	name, m, err := to.Fork(t.Context(), from, "00000003")
	if err != nil || name != "00000001" || m.Epoch != 4 || m.Step != 40 || m.Restarts != 0 || m.Request != "" {
		t.Fatalf("%s, %+v, %v", name, m, err)
	}
	if a, err := os.Stat(filepath.Join(parent, "00000003", "state")); err != nil {
		t.Fatal(err)
	} else if b, err := os.Stat(filepath.Join(child, name, "state")); err != nil || !os.SameFile(a, b) {
		t.Errorf("no hard link: %v", err)
	}
	if err := os.RemoveAll(filepath.Join(parent, "00000003")); err != nil {
		t.Fatal(err)
	}
	if c, skipped, err := to.Newest(t.Context()); err != nil || c.Name != name || len(skipped) > 0 || slurp(t, filepath.Join(child, name, "parts", "a")) != "a tensor" {
		t.Errorf("%+v, %v, %v", c, skipped, err)
	}
	put(t, filepath.Join(parent, "00000004", "state"), "weights")
	if err := from.Commit(t.Context(), "00000004", Manifest{Step: 50, Created: noon}); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(parent, "00000004", "state"), "damaged")
	if _, _, err := to.Fork(t.Context(), from, "00000004"); !errors.Is(err, ErrInvalid) {
		t.Errorf("damaged: %v", err)
	}
	put(t, filepath.Join(parent, "00000004", "state"), "weights")
	ended, stop := context.WithCancel(t.Context())
	stop()
	if _, _, err := to.Fork(ended, from, "00000004"); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if names, err := to.Names(); err != nil || len(names) != 1 {
		t.Errorf("%v, %v", names, err)
	}
}
