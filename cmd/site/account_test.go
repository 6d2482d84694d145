package site

import (
	"os"
	"path/filepath"
	"testing"
)

// Two sites on one machine do not use each other's accounts; an account left by a killed
// one is used again.
func TestFreeAccount(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes accounts")
	}
	const base = "sluice-tst"
	home := filepath.Join(t.TempDir(), "home")
	if got := FreeAccount(base); got != base {
		t.Fatalf("%s is there already: %s", base, got)
	}
	a, err := makeAccount(base, home)
	t.Cleanup(func() { _ = a.remove() })
	if err != nil {
		t.Fatal(err)
	}
	if got := FreeAccount(base); got != base+"2" {
		t.Errorf("beside a site with %s another gets %s", base, got)
	}
	if err := os.Remove(home); err != nil {
		t.Fatal(err)
	}
	if got := FreeAccount(base); got != base {
		t.Errorf("with the home of %s gone one gets %s", base, got)
	}
	later := filepath.Join(t.TempDir(), "home")
	if again, err := makeAccount(base, later); err != nil || again.credential.Uid != a.credential.Uid {
		t.Errorf("%+v, %v; was %+v", again, err, a)
	}
	if got := FreeAccount(base); got != base+"2" {
		t.Errorf("beside the site that took %s over another gets %s", base, got)
	}
}
