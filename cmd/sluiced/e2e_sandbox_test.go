package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// sluiced does not need what its unit file forbids: under the unit's system call filter a job is
// started, resized and completed. The kernel's own filter is used, made from the unit's lines; the
// mount options of systemd are not tested here.
func TestSandbox(t *testing.T) {
	t.Parallel()
	unit, err := filepath.Abs("../../etc/sluiced.service")
	if err != nil {
		t.Fatal(err)
	}
	boxed := boxedPrograms(t, unit)
	if out, err := exec.CommandContext(t.Context(), "/usr/bin/python3", "testdata/box.py", unit, "/bin/true").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED, the unit's filter was not tried: %v: %s", err, out)
	}
	s := play(t, withNodes(1, 4), func(c *site.Config) { c.Bin = boxed })
	status, err := s.Control().Status(s.ctx)
	s.must(err)
	if status.Goroutines < 3 || status.Cycles < 1 || status.Took <= 0 {
		t.Errorf("it says of itself: %d goroutines, %d cycles, the last of %g s", status.Goroutines, status.Cycles, status.Took)
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", status.PID))
	s.must(err)
	for _, want := range []string{"\nSeccomp:\t2\n", "\nNoNewPrivs:\t1\n"} {
		if !strings.Contains(string(text), want) {
			t.Fatalf("sluiced is not in the box: no %q in\n%s", want, text)
		}
	}
	j := s.submit("boxed", "", 12, []string{"--max-gpus=4"}, "--seconds", "0.8")
	j.until("to speak", func(v wire.Job) bool { return v.State == "RUNNING" && v.Speaks })
	s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", "2")
	j.runsOn(2)
	j.completes()
}

// boxedPrograms is a folder as the tests' own, with a sluiced that goes into the box.
func boxedPrograms(t *testing.T, unit string) string {
	t.Helper()
	box, err := filepath.Abs("testdata/box.py")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/tmp", "sluice-boxed-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	files := map[string]string{"box.py": "", "unit": ""}
	for name, from := range map[string]string{"box.py": box, "unit": unit} {
		b, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(b)
	}
	files["sluiced"] = fmt.Sprintf("#!/bin/sh\nexec /usr/bin/python3 %[1]s/box.py %[1]s/unit %[2]s/sluiced \"$@\"\n", dir, bin)
	for name, text := range files {
		if err := site.Put(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(bin, "sluice"), filepath.Join(dir, "sluice")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { // sluiced's account runs them
		t.Fatal(err)
	}
	return dir
}
