package etc

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestDebs builds the programs and the packages, takes them apart and uses what is in
// them.
func TestDebs(t *testing.T) {
	for _, need := range []string{"dpkg-deb", "dpkg"} {
		if _, err := exec.LookPath(need); err != nil {
			t.Skipf("NOT TESTED: the Debian packages; there is no %s", need)
		}
	}
	base := t.TempDir()
	programs := filepath.Join(base, "bin")
	os.Mkdir(programs, 0o755)
	main := []string{"sluice", "sluiced", "sluice-nvml", "sluice-plot", "sluice-top"}
	all := append(slices.Clip(main), "sluice-simulate", "sluice-lab")
	for _, p := range all {
		cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", programs, "../cmd/"+p) // as make build does
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if err := os.WriteFile(filepath.Join(programs, "sluice-of-yesterday"), nil, 0o755); err != nil { // belongs to no package
		t.Fatal(err)
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
	if len(first) != 4 || !strings.HasSuffix(first[0], "/python3-sluice_1.0+test_all.deb") {
		t.Fatalf("built %v", first)
	}
	for _, p := range all {
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
		if want := map[bool]string{true: "/etc/sluice/sluice.toml\n"}[strings.Contains(deb, "/sluice_")]; string(conffiles) != want {
			t.Errorf("%s: configuration files %q", filepath.Base(deb), conffiles)
		}
	}
	for name, mode := range map[string]os.FileMode{
		"usr/bin/sluice": 0o755, "usr/bin/sluiced": 0o755, "usr/libexec/sluice/sluice-nvml": 0o755, "usr/libexec/sluice/sluice-plot": 0o755, "usr/libexec/sluice/sluice-top": 0o755,
		"usr/libexec/sluice/sluice-simulate": 0o755, "usr/libexec/sluice/sluice-lab": 0o755,
		"usr/share/doc/python3-sluice/examples/train_ddp.py": 0o644, "usr/share/doc/python3-sluice/examples/upstream/train_ddp.py": 0o644,
		"usr/share/doc/python3-sluice/examples/container.sh": 0o644, "usr/lib/systemd/system/sluiced.service": 0o644,
		"usr/lib/systemd/user/sluiced.service": 0o644, "usr/lib/sysusers.d/sluice.conf": 0o644, "etc/sluice/sluice.toml": 0o644,
		"usr/share/sluice/epilog-sluice": 0o755, "usr/share/man/man8/sluiced.8.gz": 0o644, "usr/lib/python3/dist-packages/sluice/py.typed": 0o644,
	} {
		if info, err := os.Stat(filepath.Join(root, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if found, _ := filepath.Glob(filepath.Join(root, "usr/bin/*")); len(found) != 2 {
		t.Errorf("programs: %v", found)
	}
	linkedModulesNamed(t, filepath.Join(root, "usr/share/doc/sluice"), main)
	linkedModulesNamed(t, filepath.Join(root, "usr/share/doc/sluice-simulate"), all[5:6])
	linkedModulesNamed(t, filepath.Join(root, "usr/share/doc/sluice-lab"), all[6:])
	linkedModulesNamed(t, filepath.Join(root, "usr/share/doc/python3-sluice"), nil)
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

// linkedModulesNamed: what go list says is built into the programs stands in both papers of
// their package, with its version and sum, and with a licence of its own; nothing else does.
func linkedModulesNamed(t *testing.T, doc string, programs []string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(doc, "copyright"))
	if err != nil {
		t.Fatal(err)
	}
	notices := map[string]string{}
	for _, stanza := range strings.Split(string(raw), "\n\n")[1:] {
		head, rest, _ := strings.Cut(stanza, "\n")
		notices[strings.TrimSuffix(strings.TrimPrefix(head, "Files: go/"), "/*")] = rest
	}
	if text := notices["Files: *"]; !strings.Contains(text, "END OF TERMS AND CONDITIONS") {
		t.Errorf("%s: its own licence: %q", doc, text)
	}
	var list struct {
		Packages  []struct{ SPDXID, Name, VersionInfo, SourceInfo, LicenseDeclared string }
		Relations []struct {
			From string `json:"spdxElementId"`
			Kind string `json:"relationshipType"`
			To   string `json:"relatedSpdxElement"`
		} `json:"relationships"`
	}
	raw, _ = os.ReadFile(filepath.Join(doc, "sbom.spdx.json"))
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	names, links := map[string]string{}, map[string]bool{}
	for _, p := range list.Packages {
		names[p.SPDXID] = strings.TrimSpace(p.Name + "@" + p.VersionInfo + " " + strings.TrimPrefix(p.SourceInfo, "go.sum "))
		if p.LicenseDeclared == "" || p.LicenseDeclared == "NOASSERTION" {
			t.Errorf("%s has no licence in the list", p.Name)
		}
	}
	for _, r := range list.Relations {
		if r.Kind == "STATIC_LINK" {
			program, _, _ := strings.Cut(names[r.From], "@")
			links[program+" "+names[r.To]] = true
		}
	}
	used := map[string]bool{}
	for _, program := range programs {
		const form = `{{with .Module}}{{if not .Main}}{{.Path}}@{{.Version}} {{.Sum}}{{end}}{{end}}`
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", form, "../cmd/"+program).Output()
		if err != nil {
			t.Fatal(err)
		}
		version, _, _ := strings.Cut(strings.TrimPrefix(runtime.Version(), "go"), " ")
		for module := range strings.Lines(string(out) + "std@" + version) {
			if module = strings.TrimSpace(module); module == "" {
				continue
			}
			name, _, _ := strings.Cut(module, " ")
			used[name] = true
			if !links[program+" "+module] {
				t.Errorf("%s is linked into %s, and the list of the package does not say so", module, program)
			}
			if text := notices[name]; len(text) < 500 || !strings.Contains(text, "usr/bin/"+program) {
				t.Errorf("%s is linked into %s, and the copyright file says of it %q", module, program, text)
			}
		}
	}
	if len(notices) != len(used)+1 || len(list.Packages) != len(used)+1+len(programs) {
		t.Errorf("%s: %d notices and %d entries for %d modules and %d programs", doc, len(notices), len(list.Packages), len(used), len(programs))
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
