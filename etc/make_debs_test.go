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
	four := []string{"sluice", "sluiced", "sluice-nvml", "sluice-plot"}
	for _, p := range append(four, "sluice-of-yesterday") { // the last is nobody's
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
	for _, p := range four {
		needsProgram(t, programs, p)
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
		"usr/bin/sluice": 0o755, "usr/bin/sluiced": 0o755, "usr/bin/sluice-nvml": 0o755, "usr/bin/sluice-plot": 0o755,
		"usr/share/doc/python3-sluice/examples/train_ddp.py": 0o644, "usr/share/doc/python3-sluice/examples/upstream/train_ddp.py": 0o644,
		"usr/share/doc/python3-sluice/examples/container.sh": 0o644, "usr/lib/systemd/system/sluiced.service": 0o644,
		"usr/lib/systemd/user/sluiced.service": 0o644, "usr/lib/sysusers.d/sluice.conf": 0o644, "etc/sluice/sluice.toml": 0o644,
		"usr/share/sluice/epilog-sluice": 0o755, "usr/share/man/man8/sluiced.8.gz": 0o644, "usr/lib/python3/dist-packages/sluice/py.typed": 0o644,
	} {
		if info, err := os.Stat(filepath.Join(root, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if found, _ := filepath.Glob(filepath.Join(root, "usr/bin/*")); len(found) != len(four) {
		t.Errorf("programs: %v", found)
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

// needsProgram: where a program was not built there is no package without it.
func needsProgram(t *testing.T, programs, name string) {
	t.Helper()
	path := filepath.Join(programs, name)
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	defer os.Rename(path+".away", path)
	folder := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "./make-debs", "1.0+test", folder)
	cmd.Env = append(os.Environ(), "PROGRAMS="+programs)
	out, err := cmd.CombinedOutput()
	if debs, _ := filepath.Glob(filepath.Join(folder, "*")); err == nil || len(debs) > 0 || !strings.Contains(string(out), name+" is not built") {
		t.Errorf("without %s: %v, %v: %s", name, err, debs, out)
	}
}
