package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A removal that is interrupted leaves nothing that is taken for a checkpoint, not even
// if no file was removed yet.
func TestRemovalCutShort(t *testing.T) {
	for _, stuck := range []string{"model.pt", "optim/state.bin"} {
		t.Run(stuck, func(t *testing.T) {
			s, base := series(t)
			old := save(t, s, base, 1)
			name := save(t, s, base, 2)
			newest, err := s.Verify(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			// What cannot be removed: a folder with something in it.
			p := filepath.Join(base, old, stuck)
			if err := errors.Join(os.Remove(p), os.MkdirAll(filepath.Join(p, "mine"), 0o755)); err != nil {
				t.Fatal(err)
			}
			if removed, err := s.Prune(newest, 1); err == nil || len(removed) > 0 {
				t.Fatalf("removed %v, %v", removed, err)
			}
			if _, err := s.Manifest(old); !errors.Is(err, ErrUnfinished) {
				t.Errorf("what is left has a manifest: %v", err)
			}
		})
	}
}
