package confine

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// sound is a fence that can be used.
func sound() Fence {
	return Fence{Version: 1, Inner: "/vault/jobs/a/inner", Code: "/vault/jobs/a/code", Output: "/vault/jobs/a/out",
		Data: map[string]string{"mammo": "/data/mammo"}, System: []string{"/usr", "/lib", "/etc/ld.so.cache"}, Software: []string{"/opt/conda"},
		Numbers: 65536, Environment: []string{"LANG", "LC_*"}, Log: 10 << 20}
}

func TestSoundFence(t *testing.T) {
	want := sound()
	data, _ := json.Marshal(want)
	name := filepath.Join(t.TempDir(), FenceFile)
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Read(name)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := json.Marshal(got)
	if string(again) != string(data) {
		t.Errorf("read\n%s\nwant\n%s", again, data)
	}
}

func TestFenceRefused(t *testing.T) {
	for _, c := range []struct {
		what  string
		spoil func(*Fence)
		kind  error
		words string
	}{
		{"a later version", func(f *Fence) { f.Version = 2 }, ErrVersion, "version 2"},
		{"a relative path", func(f *Fence) { f.Inner = "inner" }, ErrMalformed, "inner"},
		{"the root as data", func(f *Fence) { f.Data["mammo"] = "/" }, ErrMalformed, "mammo"},
		{"a path upwards", func(f *Fence) { f.Code = "/vault/jobs/a/../b" }, ErrMalformed, "code"},
		{"a bad name", func(f *Fence) { f.Data["../x"] = "/x" }, ErrMalformed, "../x"},
		{"all of /etc", func(f *Fence) { f.System = []string{"/etc"} }, ErrUnsafe, "/etc"},
		{"munge's socket", func(f *Fence) { f.System = []string{"/run/munge"} }, ErrUnsafe, "/run/munge"},
		{"Slurm's configuration", func(f *Fence) { f.System = []string{"/etc/slurm/slurm.conf"} }, ErrUnsafe, "/etc/slurm"},
		{"all homes", func(f *Fence) { f.Software = []string{"/home"} }, ErrUnsafe, "/home"},
		{"the parent of the vault", func(f *Fence) { f.Software = []string{"/vault"} }, ErrUnsafe, "overlap"},
		{"the data as software", func(f *Fence) { f.Software = []string{"/data"} }, ErrUnsafe, "mammo"},
		{"output in inner", func(f *Fence) { f.Output = f.Inner + "/out" }, ErrUnsafe, "overlap"},
		{"the vault as data", func(f *Fence) { f.Data["all"] = "/vault/jobs" }, ErrUnsafe, "overlap"},
		{"a negative budget", func(f *Fence) { f.Numbers = -1 }, ErrMalformed, "numbers"},
		{"a network that is not known", func(f *Fence) { f.Network = "all" }, ErrMalformed, "network"},
		{"a variable with =", func(f *Fence) { f.Environment = []string{"A=B"} }, ErrMalformed, "A=B"},
		{"every variable", func(f *Fence) { f.Environment = []string{"*"} }, ErrMalformed, "*"},
	} {
		f := sound()
		c.spoil(&f)
		data, _ := json.Marshal(f)
		_, err := Parse("fence.json", data)
		var fe *FormatError
		if !errors.As(err, &fe) || !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v; want %v with %q", c.what, err, c.kind, c.words)
		}
	}
}

func TestFenceErrorsNameThePlace(t *testing.T) {
	for text, want := range map[string]string{
		"{\n \"version\": 1,\n \"wall\": 3}":        "fence.json:3:",
		"{\n \"version\": 1,\n \"numbers\": \"x\"}": "fence.json:3:",
		"{\"version\": 1} {}":                       "fence.json:1:",
		"{\"version\": 1,":                          "ends in the middle",
		"":                                          "ends in the middle",
		"{\"version\": 7}":                          "another version",
	} {
		if _, err := Parse("fence.json", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}

func TestReadDoesNotHang(t *testing.T) {
	dir := t.TempDir()
	fifo, link := filepath.Join(dir, "fifo"), filepath.Join(dir, "link")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{fifo, link, dir, filepath.Join(dir, "none")} {
		if _, err := Read(name); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

func FuzzParse(f *testing.F) {
	data, _ := json.Marshal(sound())
	f.Add(data)
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if fence, err := Parse("fence.json", data); err == nil && fence.Valid() != nil {
			t.Errorf("%s: accepted and not valid", data)
		}
	})
}
