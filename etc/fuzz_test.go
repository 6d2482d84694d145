package etc_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFuzz: every target of every package is tried, also after one that failed; what is said
// of a target names the source of its package, which its tests are no part of.
func TestFuzz(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: builds programs")
	}
	script, err := filepath.Abs("fuzz")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const tests = "package %\nimport \"testing\"\n" +
		"func FuzzFirst(f *testing.F)  { f.Fuzz(func(t *testing.T, s string) { Parse(s) }) }\n" +
		"func FuzzSecond(f *testing.F) {\n\tf.Add(\"x\")\n\tf.Fuzz(func(t *testing.T, s string) { if BAD { t.Error(s) } })\n}\n"
	source := func(pkg, body string) {
		put(pkg+"/x.go", "package "+pkg+"\nfunc Parse(s string) bool { return "+body+" }\n")
	}
	test := func(pkg, bad string) {
		put(pkg+"/x_test.go", strings.NewReplacer("%", pkg, "BAD", bad).Replace(tests))
	}
	run := func(args ...string) (string, int) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), script, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOMAXPROCS=1", "CORPUS="+filepath.Join(dir, "corpus"))
		said, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return string(said), cmd.ProcessState.ExitCode()
	}
	if said, code := run(); code != 64 {
		t.Errorf("without a count: exit %d, %s", code, said)
	}
	put("go.mod", "module example.org/m\n\ngo 1.24\n")
	for _, pkg := range []string{"a", "b"} {
		source(pkg, `s == "a"`)
		test(pkg, "false")
	}
	ended := regexp.MustCompile(`(?m)^fuzz: elapsed: \S+, execs: [3-9]\d .*\nPASS$`)
	head := regexp.MustCompile(`(?m)^(\./[ab] Fuzz\w+) source=([0-9a-f]{16})$`)
	sources := func(said string) map[string]string {
		t.Helper()
		of := map[string]string{}
		for _, m := range head.FindAllStringSubmatch(said, -1) {
			of[m[1]] = m[2]
		}
		if done := ended.FindAllString(said, -1); len(of) != 4 || len(done) != 4 {
			t.Fatalf("%v: not four targets of 30 executions or some more:\n%s", done, said)
		}
		return of
	}
	said, code := run("30x")
	first := sources(said)
	if code != 0 || strings.Contains(said, "without coverage") || !strings.Contains(said, "gathering baseline coverage") {
		t.Errorf("exit %d, or nothing is instrumented:\n%s", code, said)
	}
	source("a", `s == "b"`)
	test("b", "1 > 2")
	said, _ = run("30x")
	second := sources(said)
	for target, was := range first {
		if changed := strings.HasPrefix(target, "./a "); (second[target] != was) != changed {
			t.Errorf("%s: %s, then %s", target, was, second[target])
		}
	}
	test("a", `s == "x"`)
	said, code = run("30x")
	if code != 1 || len(head.FindAllString(said, -1)) != 4 || !strings.Contains(said, "--- FAIL: FuzzSecond") {
		t.Errorf("exit %d of a target that fails:\n%s", code, said)
	}
}
