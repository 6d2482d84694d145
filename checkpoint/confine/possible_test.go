package confine

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

// TestPossible: the answer is yes, or a reason and what to type. Root's is always a reason.
func TestPossible(t *testing.T) {
	err := Possible(t.Context())
	var why *Impossible
	if err == nil && os.Geteuid() != 0 {
		return
	}
	if !errors.As(err, &why) || !errors.Is(err, ErrImpossible) || why.Hint == "" {
		t.Fatalf("%v", err)
	}
	if os.Geteuid() == 0 && why.Why != Privileged {
		t.Errorf("root can: %v", err)
	}
}

func TestRefusedTrialSaysWhatToType(t *testing.T) {
	err := refused("bwrap: No permissions to create a new namespace\nmore\n", errors.New("exit status 1"))
	for _, part := range []string{ErrImpossible.Error(), "No permissions", "; "} {
		if !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "more") {
			t.Errorf("%v: want %q", err, part)
		}
	}
	if err := refused("", errors.New("exit status 7")); !strings.Contains(err.Error(), "exit status 7") {
		t.Errorf("%v", err)
	}
}

func TestMemory(t *testing.T) {
	f, err := Memory("x", []byte("content"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := io.ReadAll(f); string(got) != "content" || err != nil {
		t.Errorf("%q %v", got, err)
	}
}
