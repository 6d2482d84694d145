package etc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestPackages builds the programs and the packages, takes them apart and uses what is in
// them.
func TestPackages(t *testing.T) {
	if out, err := exec.CommandContext(t.Context(), "go", "-C", "packages", "mod", "download").CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: the packages; nfpm, which makes them, cannot be had here: %s", out)
	}
	base := t.TempDir()
	programs := filepath.Join(base, "bin")
	os.Mkdir(programs, 0o755)
	main := []string{"sluice", "sluiced", "sluice-nvml", "sluice-plot", "sluice-top", "sluice-web", "sluice-vaultd"}
	all := append(slices.Clip(main), "sluice-simulate", "sluice-lab")
	for _, p := range all {
		cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s", "-o", programs, "../cmd/"+p) // as make build does
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if err := os.WriteFile(filepath.Join(programs, "sluice-of-yesterday"), nil, 0o755); err != nil { // belongs to no package
		t.Fatal(err)
	}
	build := func(folder string) []string {
		cmd := exec.CommandContext(t.Context(), "./make-packages", "1.0+test", folder)
		cmd.Env = append(os.Environ(), "PROGRAMS="+programs, "SOURCE_DATE_EPOCH=1700000000", "LEVEL=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		made, _ := filepath.Glob(filepath.Join(folder, "*"))
		return made
	}
	first, second := build(filepath.Join(base, "one")), build(filepath.Join(base, "two"))
	if len(first) != 8 || len(second) != 8 {
		t.Fatalf("built %v", first)
	}
	for i, file := range first {
		a, _ := os.ReadFile(file)
		if b, err := os.ReadFile(second[i]); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs when it is built again, %v", filepath.Base(file), err)
		}
	}
	for _, p := range all {
		needsProgram(t, programs, p)
	}
	t.Run("deb", func(t *testing.T) {
		root := unpackedDebs(t, filepath.Join(base, "one"), filepath.Join(base, "root"))
		linkedModulesNamed(t, filepath.Join(root, "usr/share/doc/sluice"), main)
		linkedModulesNamed(t, filepath.Join(root, "usr/share/doc/sluice-simulate"), all[7:8])
		linkedModulesNamed(t, filepath.Join(root, "usr/share/doc/sluice-lab"), all[8:])
		linkedModulesNamed(t, filepath.Join(root, "usr/share/doc/python3-sluice"), nil)
		t.Run("man", func(t *testing.T) {
			readPages(t, filepath.Join(programs, "sluice"), filepath.Join(root, "usr/share/man"))
		})
		t.Run("python", func(t *testing.T) { importLibrary(t, filepath.Join(root, "usr/lib/python3/dist-packages")) })
	})
	t.Run("rpm", func(t *testing.T) { inspectRPMs(t, filepath.Join(base, "one")) })
}

// inAll are files of the packages, and their modes.
var inAll = map[string]os.FileMode{
	"usr/bin/sluice": 0o755, "usr/bin/sluiced": 0o755, "usr/libexec/sluice/sluice-nvml": 0o755, "usr/libexec/sluice/sluice-plot": 0o755,
	"usr/libexec/sluice/sluice-top": 0o755, "usr/libexec/sluice/sluice-web": 0o755, "usr/lib/systemd/system/sluice-web.service": 0o644,
	"usr/bin/sluice-vaultd": 0o755, "usr/lib/systemd/system/sluice-vaultd.service": 0o644,
	"usr/share/doc/sluice/examples/web/nginx.conf": 0o644, "usr/share/doc/sluice/examples/web/ood/sluice/manifest.yml": 0o644,
	"usr/libexec/sluice/sluice-simulate": 0o755, "usr/libexec/sluice/sluice-lab": 0o755,
	"usr/share/doc/python3-sluice/examples/train_ddp.py": 0o644, "usr/share/doc/python3-sluice/examples/upstream/train_ddp.py": 0o644,
	"usr/share/doc/python3-sluice/examples/container.sh": 0o644, "usr/lib/systemd/system/sluiced.service": 0o644,
	"usr/lib/systemd/user/sluiced.service": 0o644, "usr/lib/sysusers.d/sluice.conf": 0o644, "etc/sluice/sluice.toml": 0o644,
	"usr/share/sluice/epilog-sluice": 0o755, "usr/share/doc/sluice/examples/sluice.tmpfiles": 0o644,
	"usr/share/man/man8/sluiced.8.gz": 0o644, "usr/share/man/man1/sluice-submit.1.gz": 0o644, "usr/share/man/man5/sluice.toml.5.gz": 0o644,
	"usr/share/bash-completion/completions/sluice": 0o644, "usr/share/fish/vendor_completions.d/sluice.fish": 0o644,
}

// unpackedDebs unpacks the Debian packages of a folder into root, and returns it.
func unpackedDebs(t *testing.T, folder, root string) string {
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("NOT TESTED: what is in the Debian packages; there is no dpkg-deb")
	}
	debs, _ := filepath.Glob(filepath.Join(folder, "*.deb"))
	if len(debs) != 4 || !strings.HasSuffix(debs[0], "/python3-sluice_1.0+test_all.deb") {
		t.Fatalf("built %v", debs)
	}
	for _, deb := range debs {
		if out, err := exec.CommandContext(t.Context(), "dpkg-deb", "-x", deb, root).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		conffiles, _ := exec.CommandContext(t.Context(), "dpkg-deb", "-I", deb, "conffiles").Output()
		if want := map[bool]string{true: "/etc/sluice/sluice.toml\n"}[strings.Contains(deb, "/sluice_")]; string(conffiles) != want {
			t.Errorf("%s: configuration files %q", filepath.Base(deb), conffiles)
		}
	}
	for name, mode := range inAll {
		if info, err := os.Stat(filepath.Join(root, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	for name, want := range map[string]int{"usr/bin/*": 3, "usr/libexec/sluice/*": 6, "usr/lib/python3/dist-packages/sluice/py.typed": 1, "usr/share/zsh/vendor-completions/_sluice": 1} {
		if found, _ := filepath.Glob(filepath.Join(root, name)); len(found) != want {
			t.Errorf("%s: %v", name, found)
		}
	}
	return root
}

// inspectRPMs: the same is in the RPM packages, they own no folder of the system's, and
// enable nothing.
func inspectRPMs(t *testing.T, folder string) {
	if _, err := exec.LookPath("rpm"); err != nil {
		t.Skip("NOT TESTED: what is in the RPM packages; there is no rpm")
	}
	rpms, _ := filepath.Glob(filepath.Join(folder, "*.rpm"))
	if len(rpms) != 4 {
		t.Fatalf("built %v", rpms)
	}
	rpm := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), "rpm", append(append([]string{"--dbpath", t.TempDir()}, args...), rpms...)...).Output()
		if err != nil {
			t.Fatalf("rpm %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	modes := map[string]string{}
	for line := range strings.Lines(rpm("-qp", "--qf", "[%{FILEMODES:octal} %{FILENAMES}\n]")) {
		mode, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if modes[name] = mode; strings.HasPrefix(mode, "04") && !strings.Contains(name, "sluice") {
			t.Errorf("a package owns the folder %s", name)
		}
	}
	for name, mode := range inAll {
		if got := modes["/"+name]; !strings.HasSuffix(got, fmt.Sprintf("%o", mode)) {
			t.Errorf("/%s has mode %q", name, got)
		}
	}
	if modes["/usr/share/zsh/site-functions/_sluice"] == "" || modes["/usr/lib/python3.9/site-packages/sluice/py.typed"] == "" {
		t.Error("without completion in zsh, or without the library")
	}
	if got := strings.TrimSpace(rpm("-qp", "--configfiles")); got != "/etc/sluice/sluice.toml" {
		t.Errorf("configuration files %q", got)
	}
	scripts := rpm("-qp", "--scripts")
	for _, word := range []string{"systemctl enable --now sluiced\n", "systemd-sysusers sluice.conf", "systemctl try-restart sluiced sluice-web sluice-vaultd", "systemctl stop sluice-vaultd sluice-web sluiced", "systemctl disable sluice-vaultd sluice-web sluiced"} {
		if !strings.Contains(scripts, word) {
			t.Errorf("scripts without %q:\n%s", word, scripts)
		}
	}
	for line := range strings.Lines(scripts) {
		if !strings.HasPrefix(line, "#") && (strings.Contains(line, "systemctl enable") || strings.Contains(line, "systemctl start")) {
			t.Errorf("installing enables or starts something: %s", line)
		}
	}
	if got := rpm("-qp", "--qf", "%{BUILDHOST} %{LICENSE}\n"); strings.Count(got, "localhost Apache-2.0") != 4 {
		t.Errorf("built on, under: %s", got)
	}
	if out, err := exec.CommandContext(t.Context(), "rpm", append([]string{"--dbpath", t.TempDir(), "-K"}, rpms...)...).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// readPages: every verb has a manual page, every key of the configuration stands in
// sluice.toml(5), and man reads all pages without a warning.
func readPages(t *testing.T, sluice, folder string) {
	if _, err := exec.LookPath("man"); err != nil {
		t.Skip("NOT TESTED: the manual pages; there is no man")
	}
	verbs, err := exec.CommandContext(t.Context(), sluice, "__completeNoDesc", "").Output()
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for verb := range strings.Lines(string(verbs)) {
		verb = strings.TrimSpace(verb)
		if verb == "help" || strings.HasPrefix(verb, ":") {
			continue
		}
		count++
		if _, err := os.Stat(filepath.Join(folder, "man1", "sluice-"+verb+".1.gz")); err != nil {
			t.Errorf("sluice %s has no page", verb)
		}
	}
	if count < 25 {
		t.Errorf("only %d verbs", count)
	}
	pages, _ := filepath.Glob(filepath.Join(folder, "man*", "*.gz"))
	var configuration string
	for _, page := range pages {
		var said bytes.Buffer
		cmd := exec.CommandContext(t.Context(), "man", "--warnings", "-E", "UTF-8", "-l", page)
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "MANWIDTH=80", "MANOPT=", "MANPAGER=cat", "TERM=dumb")
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil || said.Len() > 0 || len(out) < 300 {
			t.Errorf("man %s: %v, %d characters: %s", filepath.Base(page), err, len(out), said.String())
		}
		if strings.HasSuffix(page, "sluice.toml.5.gz") {
			configuration = string(out)
		}
	}
	for _, k := range keys {
		_, section, _ := strings.Cut(configuration, "\n["+k.section+"]\n")
		if section, _, _ = strings.Cut(section, "\n["); !strings.Contains(section, "       "+k.name+" = ") {
			t.Errorf("sluice.toml(5) does not explain [%s] %s", k.section, k.name)
		}
	}
	for _, name := range []string{"pool", "policy", "shares", "parent", "users", "default", "weight", "scavenger", "guarantee"} { // of [partition.NAME] and the like
		if !strings.Contains(configuration, "           "+name+" = ") {
			t.Errorf("sluice.toml(5) does not explain %s", name)
		}
	}
}

// importLibrary uses the packaged library.
func importLibrary(t *testing.T, site string) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("NOT TESTED: importing the packaged library; there is no python3")
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", `import importlib.metadata as m, sluice; print(sluice.__file__, m.version("sluice"), sluice.should_checkpoint())`)
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
	cmd := exec.CommandContext(t.Context(), "./make-packages", "1.0+test", folder)
	cmd.Env = append(os.Environ(), "PROGRAMS="+programs)
	out, err := cmd.CombinedOutput()
	if debs, _ := filepath.Glob(filepath.Join(folder, "*")); err == nil || len(debs) > 0 || !strings.Contains(string(out), name+" is not built") {
		t.Errorf("without %s: %v, %v: %s", name, err, debs, out)
	}
}
