package python_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// TestOptuna runs the tests of sluice.optuna with the real Optuna.
func TestOptuna(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, pythontest.Optuna(t), "-m", "unittest", "-v", "tests.optuna.test_optuna")
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	cmd.WaitDelay = 10 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestLinesChanged counts what an upstream program needs to become elastic: lines
// of code that are new or other than before. README and the adapters' first lines
// say these numbers.
func TestLinesChanged(t *testing.T) {
	for _, c := range []struct {
		example string
		want    int
		marked  bool // each of those lines is marked [elastic]
	}{
		{"train_ddp.py", 5, true}, {"train_fsdp.py", 5, true}, {"train_mpi.py", 11, true},
		{"train_validate.py", 20, true},
		{"train_lightning.py", 3, false}, {"train_transformers.py", 4, false}, {"train_accelerate.py", 5, false},
	} {
		upstream := code(t, filepath.Join("examples", "upstream", c.example))
		var all, unmarked []string
		for _, line := range code(t, filepath.Join("examples", c.example)) {
			line, marked := strings.CutSuffix(line, mark)
			if all = append(all, line); !marked {
				unmarked = append(unmarked, line)
			}
		}
		changed := beyond(upstream, all)
		t.Logf("%s: %d lines changed:\n\t%s", c.example, len(changed), strings.Join(changed, "\n\t"))
		if len(changed) != c.want {
			t.Errorf("%s: %d lines changed, README says %d", c.example, len(changed), c.want)
		}
		if !c.marked {
			continue
		}
		if marks := len(all) - len(unmarked); marks != c.want {
			t.Errorf("%s: %d lines are marked [elastic], want %d", c.example, marks, c.want)
		}
		if rest := beyond(upstream, unmarked); len(rest) > 0 {
			t.Errorf("%s: changed, and not marked [elastic]:\n\t%s", c.example, strings.Join(rest, "\n\t"))
		}
	}
}

// beyond returns the lines that upstream does not have, or not as often, but for
// those of demonstrations.
func beyond(upstream, lines []string) (changed []string) {
	counts := map[string]int{}
	for _, line := range upstream {
		counts[line]++
	}
	for _, line := range lines {
		if counts[line]--; counts[line] < 0 && !orders.MatchString(line) {
			changed = append(changed, line)
		}
	}
	return changed
}

// mark is how an example tells the lines that make it elastic; orders are those it
// has for tests and demonstrations only.
const mark = "  # [elastic]"

var orders = regexp.MustCompile(`\bdemonstration\b|\borders\b`)

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
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}
