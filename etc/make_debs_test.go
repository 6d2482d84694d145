package etc

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDebs builds the packages with stand-ins for the programs, takes them apart
// and uses what is in them.
func TestDebs(t *testing.T) {
	for _, need := range []string{"dpkg-deb", "dpkg"} {
		if _, err := exec.LookPath(need); err != nil {
			t.Skipf("NOT TESTED: the Debian packages; there is no %s", need)
		}
	}
	base := t.TempDir()
	programs := filepath.Join(base, "bin")
	os.Mkdir(programs, 0o755)
	for _, p := range []string{"sluice", "sluiced"} {
		if err := os.WriteFile(filepath.Join(programs, p), []byte("#!/bin/sh\necho "+p+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	build := func(folder string) []string {
		cmd := exec.CommandContext(t.Context(), "./make-debs", "1.0+test", folder)
		cmd.Env = append(os.Environ(), "PROGRAMS="+programs, "SOURCE_DATE_EPOCH=1700000000")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		debs, _ := filepath.Glob(filepath.Join(folder, "*.deb"))
		return debs
	}
	first, second := build(filepath.Join(base, "one")), build(filepath.Join(base, "two"))
	if len(first) != 2 || !strings.HasSuffix(first[0], "/python3-sluice_1.0+test_all.deb") {
		t.Fatalf("built %v", first)
	}
	root := filepath.Join(base, "root")
	for i, deb := range first {
		a, _ := os.ReadFile(deb)
		if b, err := os.ReadFile(second[i]); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs when it is built again, %v", filepath.Base(deb), err)
		}
		if out, err := exec.CommandContext(t.Context(), "dpkg-deb", "-x", deb, root).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		conffiles, _ := exec.CommandContext(t.Context(), "dpkg-deb", "-I", deb, "conffiles").Output()
		if want := map[bool]string{true: "/etc/sluice/sluice.toml\n"}[i == 1]; string(conffiles) != want {
			t.Errorf("%s: configuration files %q", filepath.Base(deb), conffiles)
		}
	}
	for name, mode := range map[string]os.FileMode{
		"usr/bin/sluice": 0o755, "usr/bin/sluiced": 0o755, "usr/lib/systemd/system/sluiced.service": 0o644,
		"usr/lib/systemd/user/sluiced.service": 0o644, "usr/lib/sysusers.d/sluice.conf": 0o644, "etc/sluice/sluice.toml": 0o644,
		"usr/share/sluice/epilog-sluice": 0o755, "usr/lib/python3/dist-packages/sluice/py.typed": 0o644,
	} {
		if info, err := os.Stat(filepath.Join(root, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("NOT TESTED: importing the packaged library; there is no python3")
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", `import importlib.metadata as m, sluice; print(sluice.__file__, m.version("sluice"), sluice.should_checkpoint())`)
	site := filepath.Join(root, "usr/lib/python3/dist-packages")
	cmd.Env = append(os.Environ(), "PYTHONPATH="+site, "SLUICE_JOB_DIR=")
	out, err := cmd.CombinedOutput()
	if want := filepath.Join(site, "sluice", "__init__.py") + " 1.0 False\n"; err != nil || string(out) != want {
		t.Errorf("%v: %q, want %q", err, out, want)
	}
}
