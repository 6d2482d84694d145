package reach

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// TestSluice: sluice is found beside the program only, and only if it can be run.
func TestSluice(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(filepath.Dir(self), "sluice")
	elsewhere := t.TempDir()
	if err := os.WriteFile(filepath.Join(elsewhere, "sluice"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", elsewhere)
	if got, err := Sluice(); err == nil || !strings.Contains(err.Error(), "sluice is not beside "+self) {
		t.Fatalf("%s, %v", got, err)
	}
	for mode, found := range map[os.FileMode]bool{0o644: false, 0o755: true} {
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
		if got, err := Sluice(); (err == nil) != found || found && got != path {
			t.Errorf("mode %o: %s, %v", mode, got, err)
		}
		os.Remove(path)
	}
}

// TestOptions: a command of sluice asks the same sluiced from any folder.
func TestOptions(t *testing.T) {
	here := t.TempDir()
	t.Chdir(here)
	for words, want := range map[string][]string{
		"": nil, "--user": {"--user=true"}, "--user=false": {"--user=false"}, "--config a.toml": {"--config=" + filepath.Join(here, "a.toml")},
		"--config=/b.toml --user": {"--config=/b.toml", "--user=true"},
	} {
		c := &cobra.Command{}
		terminal.Root(c, "1")
		c.RunE = nil
		c.Run = func(*cobra.Command, []string) {}
		c.SetArgs(strings.Fields(words))
		if err := c.Execute(); err != nil {
			t.Fatal(err)
		}
		if got, err := Options(c); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", words, got, err)
		}
	}
}
