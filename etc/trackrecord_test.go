package etc

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	namedTest   = regexp.MustCompile(`\b(Test[A-Z][A-Za-z0-9]+|test_[a-z0-9_]+)`)
	writtenTest = regexp.MustCompile(`(?m)^(?:func|\s*(?:async )?def) (Test[A-Z][A-Za-z0-9]+|test_[a-z0-9_]+)\(`)
)

// TestTrackRecordNamesTests: an old bug stays catchable, and a promise kept, only by a test
// that is there.
func TestTrackRecordNamesTests(t *testing.T) {
	have := testsBelow(t, "..")
	for _, page := range []string{"TRACKRECORD.md", "SECURITY.md", "CONTRIBUTING.md", "ARCHITECTURE.md"} {
		text, err := os.ReadFile("../" + page)
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(string(text), "\n") {
			for _, name := range namedTest.FindAllString(line, -1) {
				if !have[name] {
					t.Errorf("%s:%d: there is no test %s", page, n+1, name)
				}
			}
		}
	}
	if len(have) < 100 {
		t.Errorf("only %d tests were found", len(have))
	}
}

// testsBelow names the tests in a tree: those of Go, those of Python and their files.
func testsBelow(t *testing.T, root string) map[string]bool {
	t.Helper()
	have := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		switch python := strings.HasPrefix(name, "test_") && strings.HasSuffix(name, ".py"); {
		case d.IsDir() && path != root && strings.HasPrefix(name, "."):
			return fs.SkipDir
		case python:
			have[strings.TrimSuffix(name, ".py")] = true
		case !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range writtenTest.FindAllSubmatch(text, -1) {
			have[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return have
}
