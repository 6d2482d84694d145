package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/etc"
)

// A started job is parked for a shorter one if the site allows it: it saves, waits, and resumes from
// its checkpoint later.
func TestParkedJobComesBack(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(1, 4), withConfig("[policy]\nname = \"lookahead\"\npreempt = true\noverload = 0.0\nwait = \"5s\"\n"+quick))
	long := s.submit("long", "", 60, []string{"--min-gpus=4", "--max-gpus=4", "--model=toy"}, "--seconds", "1")
	long.until("to train", func(v wire.Job) bool { return v.State == "RUNNING" && v.Done > 0 })
	short := s.submit("short", "", 3, []string{"--min-gpus=4", "--max-gpus=4", "--model=toy"})
	long.until("to be parked", func(v wire.Job) bool {
		return v.State == "PENDING" && v.Move == nil && strings.Contains(v.Last, "waits again")
	})
	short.completes()
	long.completes()
}

// What sluice.toml lists is what there is.
func TestPoliciesOfTheConfiguration(t *testing.T) {
	for _, p := range policy.All {
		c := etc.Default()
		c.Policy.Name = p.Name
		path := filepath.Join(t.TempDir(), "sluice.toml")
		if err := os.WriteFile(path, []byte(c.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := etc.Load(path); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}
