package reliability

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// TestTable: the latest figure of each release, the sum of all seeds, kills and hours; a
// figure without a record is marked as such.
func TestTable(t *testing.T) {
	track := filepath.Join(t.TempDir(), "TRACKRECORD.md")
	text := "# Track record\n\n| bug | found by |\n|---|---|\n| one | a |\n| two | b |\n\n| harness | what |\n|---|---|\n| three | c |\n"
	if err := os.WriteFile(track, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Print(Options{Folder: "testdata/campaigns", Track: track, Out: &out}); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("testdata/table.md", out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/table.md")
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("differs; read the diff, then -update:\n%s", &out)
	}
}

// TestNothingRun: an empty folder, or none, is a table of what was not run.
func TestNothingRun(t *testing.T) {
	for _, dir := range []string{t.TempDir(), "/nonexistent"} {
		var out bytes.Buffer
		if err := Print(Options{Folder: dir, Out: &out}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")[2:]
		if len(lines) != len(figures)+2 {
			t.Errorf("%d rows", len(lines))
		}
		for _, l := range lines {
			if !strings.Contains(l, notRun) {
				t.Errorf("made up: %s", l)
			}
		}
	}
}

// TestBoundaries: boundaries count only when the test that crosses them passed.
func TestBoundaries(t *testing.T) {
	for text, want := range map[string]int{
		"    x_test.go:1: 12 boundaries\n--- PASS: TestCrashAtEveryBoundary (1s)\n": 1,
		"--- PASS: TestCrashAtEveryBoundary (1s)\n    x_test.go:1: 12 boundaries\n": 1,
		"    x_test.go:1: 12 boundaries\n--- FAIL: TestCrashAtEveryBoundary (1s)\n": 0,
	} {
		r, err := read(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, f := range r.facts {
			if f.name == "boundaries" {
				n++
			}
		}
		if n != want {
			t.Errorf("%q: %d facts, want %d", text, n, want)
		}
	}
}

// TestRefusesOddFiles: a FIFO does not block, and a folder is no record.
func TestRefusesOddFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "a.txt"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Print(Options{Folder: dir, Out: new(bytes.Buffer)}); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("a folder: %v", err)
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, "a.txt")), syscall.Mkfifo(filepath.Join(dir, "a.txt"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := Print(Options{Folder: dir, Out: new(bytes.Buffer)}); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("a FIFO: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("conform: release=fake kept=1 total=2\nfuzz: elapsed: 3s, execs: 5 (1/sec)\n")
	f.Add("# campaign x commit y began z:\nplanted=9 caught=8\n# campaign ended z exit 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := read(strings.NewReader(text))
		if err != nil {
			return
		}
		by := map[string][]fact{}
		for _, fa := range r.facts {
			by[fa.name] = append(by[fa.name], fa)
		}
		for _, row := range figures {
			printRow(new(bytes.Buffer), row.title, by[row.name], row.read)
		}
	})
}
