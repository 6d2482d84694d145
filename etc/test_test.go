package etc_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRunAgain: a failed test is run once more by its name, and said to be flaky if it
// passes then; what cannot be flaky, or too much, is not run again.
func TestRunAgain(t *testing.T) {
	script, err := filepath.Abs("test")
	if err != nil {
		t.Fatal(err)
	}
	const failed = "--- FAIL: TestA (0.1s)\n    x_test.go:1: no\n    --- FAIL: TestA/part (0.0s)\nFAIL\nFAIL\tm/a\t1.0s\n"
	for _, c := range []struct {
		name, first string
		second      int // exit code of a second run
		code, runs  int
		says        string
	}{
		{"passes", "ok  \tm/a\t1.0s\n", 0, 0, 1, ""},
		{"flaky", failed + "ok  \tm/b\t1.0s\n", 0, 0, 2, "FLAKY: TestA of m/a"},
		{"fails twice", failed, 1, 1, 2, "test: again: m/a: TestA"},
		{"a race", "WARNING: DATA RACE\n" + failed, 0, 1, 1, ""},
		{"a panic", "--- FAIL: TestA (0.1s)\npanic: no [recovered]\nFAIL\tm/a\t1.0s\n", 0, 1, 1, ""},
		{"a timeout", "panic: test timed out after 50m0s\nFAIL\tm/a\t1.0s\n", 0, 1, 1, ""},
		{"no build", "FAIL\tm/a [build failed]\n" + failed, 0, 1, 1, ""},
		{"outside of a test", "FAIL\tm/a\t1.0s\n", 0, 1, 1, ""},
		{"too many", strings.Repeat("--- FAIL: TestA (0.1s)\n", 4) + "FAIL\tm/a\t1.0s\n", 0, 1, 1, ""},
		{"of a package that passed", "--- FAIL: TestA (0.1s)\nok  \tm/b\t1.0s\nFAIL\tm/a\t1.0s\n", 0, 1, 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "first"), c.first)
			program := filepath.Join(dir, "go")
			write(t, program, `#!/bin/sh
cd "$(dirname "$0")"
echo "$*" >>runs
if [ "$(wc -l <runs)" -eq 1 ]; then
	cat first
	! grep -q FAIL first
else
	exit $SECOND
fi
`)
			if err := os.Chmod(program, 0o755); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), script, "-race", "-p", "1", "--", "m/a", "m/b")
			flaky := filepath.Join(dir, "flaky")
			cmd.Env = append(os.Environ(), "GO="+program, "SECOND="+string(rune('0'+c.second)), "FLAKY="+flaky, "AGAIN=3")
			said, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != c.code {
				t.Errorf("exit %d, want %d:\n%s", code, c.code, said)
			}
			if !strings.Contains(string(said), c.first) || !strings.Contains(string(said), c.says) {
				t.Errorf("want %q in\n%s", c.says, said)
			}
			runs := strings.Split(strings.TrimSpace(read(t, filepath.Join(dir, "runs"))), "\n")
			if len(runs) != c.runs || runs[0] != "test -race -p 1 m/a m/b" {
				t.Fatalf("ran %q", runs)
			}
			if c.runs > 1 && runs[1] != "test -race -p 1 -count=1 -run ^(TestA)$ m/a" {
				t.Errorf("second run: %q", runs[1])
			}
			if kept, _ := os.ReadFile(flaky); (len(kept) > 0) != strings.HasPrefix(c.says, "FLAKY") {
				t.Errorf("kept %q", kept)
			}
		})
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
