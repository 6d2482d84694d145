package python_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/pythontest"
)

// TestFrameworks runs the adapters' tests with the real frameworks.
func TestFrameworks(t *testing.T) {
	interpreter := pythontest.Frameworks(t)
	modules, err := filepath.Glob("tests/frameworks/test_*.py")
	if err != nil || len(modules) == 0 {
		t.Fatal("no tests in tests/frameworks", err)
	}
	for _, path := range modules {
		module := strings.TrimSuffix(filepath.Base(path), ".py")
		t.Run(strings.TrimPrefix(module, "test_"), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, interpreter, "-m", "unittest", "-v", "tests.frameworks."+module)
			cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "OMP_NUM_THREADS=1")
			cmd.WaitDelay = 10 * time.Second // ranks that outlive a test that was ended
			out, err := cmd.CombinedOutput()
			for line := range strings.Lines(string(out)) {
				if strings.Contains(line, "relative difference") || strings.Contains(line, "NOT TESTED") || strings.HasPrefix(line, "Ran ") {
					t.Log(strings.TrimSpace(line))
				}
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}

// TestLinesChanged counts what an upstream program needs to become elastic: lines
// of code that are new or other than before.
func TestLinesChanged(t *testing.T) {
	for example, most := range map[string]int{
		"train_lightning.py":    3,
		"train_fsdp.py":         5,
		"train_transformers.py": 4,
		"train_accelerate.py":   5,
	} {
		before := code(t, filepath.Join("examples", "upstream", example))
		counts := map[string]int{}
		for _, line := range before {
			counts[line]++
		}
		var changed []string
		for _, line := range code(t, filepath.Join("examples", example)) {
			if counts[line]--; counts[line] < 0 {
				changed = append(changed, line)
			}
		}
		t.Logf("%s: %d lines changed:\n\t%s", example, len(changed), strings.Join(changed, "\n\t"))
		if len(changed) > most {
			t.Errorf("%s: %d lines changed, at most %d wanted", example, len(changed), most)
		}
	}
}

// code returns a program's lines without indentation, comments and its first docstring.
func code(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, body, found := strings.Cut(strings.Replace(string(data), `"""`, "", 1), `"""`)
	if !found {
		t.Fatalf("%s: no docstring", path)
	}
	var lines []string
	for line := range strings.Lines(body) {
		line, _, _ = strings.Cut(line, "  # [elastic]")
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}
