package etc_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestConfinedSays: make confined prints one line a way and ends with the counts, and fails if a way is open that should be
// closed, if a test fails, if more bytes left than may, and if nothing was tried.
func TestConfinedSays(t *testing.T) {
	script, err := filepath.Abs("confined")
	if err != nil {
		t.Fatal(err)
	}
	const fine = "=== RUN   TestA\n    a_test.go:1: way: program closed: tcp                  TCP to this node; ECONNREFUSED\n" +
		"    a_test.go:1: way: account known: names                names of processes; give them nodes\n" +
		"    a_test.go:2: reliability: confined-ways 2\n    a_test.go:2: reliability: confined-left 40\n    a_test.go:2: reliability: confined-budget 70\n    a_test.go:2: reliability: confined-left 2\n" +
		"    a_test.go:3: reliability: confined-attempts 7\n    b_test.go:4: NOT TESTED in a fence: bubblewrap is not installed\nconfined-startup: pairs=20 more_ms=3\n--- PASS: TestA (0.1s)\n"
	const lines = "closed  program   tcp  TCP to this node; ECONNREFUSED\nknown   account   names  names of processes; give them nodes\n"
	for _, c := range []struct {
		what, says string
		code, want int
		out        string
	}{
		{"all is well", fine, 0, 0, lines + "not tried: in a fence: bubblewrap is not installed\nconfined-startup: pairs=20 more_ms=3\nreliability: confined-ways 2\nreliability: confined-open 1\n" +
			"reliability: confined-attempts 7\nreliability: confined-budget 70\nreliability: confined-left 42\n" +
			"confined: 2 ways: 1 closed, 1 open (1 of them named in SECURITY.md); 42 bytes left of 70 that may; 7 denied calls told, 0 kinds not told; 1 not tried here\n"},
		{"an open way", fine + "    a_test.go:1: way: user open: links                links in the output; it got one\n", 0, 1, ""},
		{"too many bytes", fine + "    a_test.go:1: reliability: confined-left 30\n", 0, 1, ""},
		{"a test that fails", fine + "--- FAIL: TestB (0.1s)\n", 1, 1, ""},
		{"nothing", "", 0, 1, ""},
	} {
		dir := t.TempDir()
		program := filepath.Join(dir, "go")
		text := "#!/bin/sh\ncat " + dir + "/says\nexit " + string(rune('0'+c.code)) + "\n"
		if err := os.WriteFile(filepath.Join(dir, "says"), []byte(c.says), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(program, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), script)
		cmd.Env = append(os.Environ(), "GO="+program)
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != c.want || c.out != "" && string(out) != c.out {
			t.Errorf("%s: exit %d, want %d:\n%s", c.what, code, c.want, out)
		}
		if failed := strings.Contains(errs.String(), "--- FAIL"); failed != (c.code != 0) {
			t.Errorf("%s: on standard error: %s", c.what, errs.String())
		}
	}
}
