package elastic_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// linked returns the modules whose code is in a program, each with its version.
func linked(t *testing.T, program string) []string {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{with .Replace}} => {{.Path}} {{.Version}}{{end}}{{end}}{{end}}", module+program)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' })
	slices.Sort(lines)
	return slices.Compact(lines)
}

// TestDependenciesAreKnown: S9. The list of modules that sluice's programs link is reviewed.
// Read a new module, and why it is linked, BEFORE -update.
func TestDependenciesAreKnown(t *testing.T) {
	var b strings.Builder
	b.WriteString("# The modules that are linked into each program; written by go test ./elastic -run TestDependenciesAreKnown -update.\n")
	for _, program := range []string{"cmd/sluice", "cmd/sluice-top", "cmd/sluice-web", "cmd/sluice-simulate", "cmd/sluice-lab", "cmd/sluiced", "cmd/sluice-vaultd", "cmd/sluice-nvml", "cmd/sluice-plot"} {
		lines := linked(t, program)
		if len(lines) == 0 {
			t.Errorf("%s: no modules at all", program)
		}
		b.WriteString("\n" + program + "\n\t" + strings.Join(lines, "\n\t") + "\n")
	}
	golden := filepath.Join("testdata", "dependencies.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if got := b.String(); got != string(want) {
		for line := range strings.Lines(got) {
			if !strings.Contains(string(want), line) {
				t.Errorf("new: %s", strings.TrimSpace(line))
			}
		}
		t.Errorf("what is linked is not what %s says; if it is meant, -update and read the difference:\n%s", golden, got)
	}
}
