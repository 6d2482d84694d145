package lab

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// interpreter returns the loader an ELF program names.
func interpreter(t *testing.T, image []byte) string {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			name := make([]byte, p.Filesz)
			if _, err := p.ReadAt(name, 0); err != nil {
				t.Fatal(err)
			}
			return strings.TrimRight(string(name), "\x00")
		}
	}
	t.Skip("NOT TESTED: cat is a static program here")
	return ""
}

// A program that was given another loader runs with it, and does not start with one that
// does not exist.
func TestWithInterpreter(t *testing.T) {
	cat, err := exec.LookPath("cat")
	if err != nil {
		t.Skip("NOT TESTED: no cat here")
	}
	image, err := os.ReadFile(cat)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	link := filepath.Join(dir, strings.Repeat("a-long-name-", 10)) // longer than the original's
	if err := os.Symlink(interpreter(t, image), link); err != nil {
		t.Fatal(err)
	}
	for loader, runs := range map[string]bool{link: true, filepath.Join(dir, "none"): false} {
		patched, err := withInterpreter(image, loader)
		if err != nil {
			t.Fatal(err)
		}
		if got := interpreter(t, patched); got != loader {
			t.Errorf("names %s, want %s", got, loader)
		}
		here := filepath.Join(t.TempDir(), "cat")
		if err := os.WriteFile(here, patched, 0o755); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(here, "/proc/self/cmdline").Output()
		if runs && (err != nil || !strings.HasPrefix(string(out), here)) {
			t.Errorf("with its loader: %q, %v", out, err)
		}
		if !runs && err == nil {
			t.Error("ran without a loader")
		}
	}
}

func FuzzWithInterpreter(f *testing.F) {
	f.Add([]byte("\x7fELF\x02\x01\x01"), "/lib/ld.so")
	if image, err := os.ReadFile("/bin/true"); err == nil && len(image) > 4096 {
		f.Add(image[:4096], "/lib/ld.so")
	}
	f.Fuzz(func(t *testing.T, image []byte, path string) {
		patched, err := withInterpreter(image, path)
		if err == nil && !bytes.HasSuffix(patched, []byte(path+"\x00")) {
			t.Error("accepted, but the name is not there")
		}
	})
}

func TestFindLoaderSaysWhatIsMissing(t *testing.T) {
	root := t.TempDir()
	if _, err := findLoader(root); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "dynamic loader") {
		t.Errorf("empty tree: %v", err)
	}
	lib := filepath.Join(root, "lib64")
	if err := errors.Join(os.Mkdir(lib, 0o755), os.WriteFile(filepath.Join(lib, "ld-linux-x86-64.so.2"), nil, 0o755)); err != nil {
		t.Fatal(err)
	}
	if _, err := findLoader(root); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "plugins") {
		t.Errorf("tree without Slurm: %v", err)
	}
}

// classify must recognise the lab's own processes and no others.
func TestClassify(t *testing.T) {
	l := &Lab{record{Cluster: "lab1", Config: Config{Dir: "/tmp/a", Nodes: 1, NodePrefix: "gpu"}}}
	for _, tc := range []struct {
		args string
		kind kind
		node string
	}{
		{"/usr/sbin/munged --foreground --socket=/tmp/a/run/munge.sock", munged, ""},
		{"/usr/sbin/munged --foreground --socket=/tmp/b/run/munge.sock", foreign, ""},
		{"/usr/sbin/slurmctld -D -f /tmp/a/etc/slurm.conf", slurmctld, ""},
		{"/usr/sbin/slurmctld -D -f /tmp/ab/etc/slurm.conf", foreign, ""},
		{"/usr/sbin/slurmd -D -N gpu1 -f /tmp/a/etc/slurm.conf", slurmd, "gpu1"},
		{"vim /tmp/a/etc/slurm.conf", foreign, ""},
		{"tail -f slurmctld /tmp/a/etc/slurm.conf", foreign, ""},
		{"", foreign, ""},
	} {
		// Number 0 is no process, so nothing is read from /proc.
		k, node := l.classify(process{args: strings.Fields(tc.args)})
		if k != tc.kind || node != tc.node {
			t.Errorf("%q: kind %d on %q, want %d on %q", tc.args, k, node, tc.kind, tc.node)
		}
	}
}
