package etc_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// fakePython pretends to be Debian's python3: it makes an environment whose own
// Python installs by noting it, or fails as $FAKE/pip says.
const fakePython = `#!/bin/sh
case "$*" in
*version_info*) [ ! -e "$FAKE/old" ] ;;
*ensurepip*) [ ! -e "$FAKE/novenv" ] ;;
--version) echo "Python 3.11.2" ;;
"-m venv "*)
	mkdir -p "$3/bin"
	cat >"$3/bin/python" <<'END'
#!/bin/sh
case "$*" in
*pip*) echo installed >>"$FAKE/pips"; [ ! -e "$FAKE/pip" ] || . "$FAKE/pip" ;;
*import*) [ ! -e "$FAKE/unusable" ] ;;
*compileall*) false ;; # as where a package holds templates for newer Pythons
esac
END
	chmod 755 "$3/bin/python" ;;
*) exit 9 ;;
esac
`

type pretended struct {
	*testing.T
	dir, place string
	script     string
}

// newPretended makes a machine with the files named in it; pip is what installing does.
func newPretended(t *testing.T, pip string, files ...string) *pretended {
	t.Helper()
	p := &pretended{T: t, dir: t.TempDir(), script: "install-frameworks"}
	p.place = filepath.Join(p.dir, "cache", "frameworks")
	p.write("python3", fakePython, 0o755)
	for _, f := range files {
		p.write(f, "", 0o644)
	}
	if pip != "" {
		p.write("pip", pip, 0o644)
	}
	return p
}

func (p *pretended) write(name, content string, mode os.FileMode) {
	p.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(content), mode); err != nil {
		p.Fatal(err)
	}
}

// install runs the script and returns what it printed and its exit status.
func (p *pretended) install(env ...string) (string, int) {
	p.Helper()
	script, err := filepath.Abs(p.script)
	if err != nil {
		p.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", script)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "FAKE=" + p.dir, "PYTHON=" + filepath.Join(p.dir, "python3"),
		"SLUICE_FRAMEWORKS=" + p.place, "SLUICE_OPTUNA=" + filepath.Join(filepath.Dir(p.place), "optuna"), "TMPDIR=" + p.dir}, env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// pips counts the installations.
func (p *pretended) pips() int {
	data, _ := os.ReadFile(filepath.Join(p.dir, "pips"))
	return strings.Count(string(data), "\n")
}

func TestInstallFrameworks(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files []string
		pip   string
		code  int
		say   []string
	}{
		{name: "installs", say: []string{"installing into"}},
		{name: "old Python", files: []string{"old"}, code: 69, say: []string{"older than 3.11", "NOT INSTALLED, and therefore skipped: the adapters for Lightning"}},
		{name: "no venv", files: []string{"novenv"}, code: 69, say: []string{"apt-get install python3-venv", "NOT INSTALLED"}},
		{name: "no index", pip: "echo 'ERROR: Could not find a version that satisfies the requirement torch (from versions: none)'; exit 1\n", code: 75,
			say: []string{"| ERROR: Could not find", "could not be used", "NOT INSTALLED"}},
		{name: "not for this Python", pip: "echo 'ERROR: Could not find a version that satisfies the requirement torch==9 (from versions: 2.0, 2.1)'; exit 1\n", code: 69,
			say: []string{"does not have these versions for this Python: Python 3.11.2"}},
		{name: "cannot be imported", files: []string{"unusable"}, code: 75, say: []string{"NOT INSTALLED"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPretended(t, tc.pip, tc.files...)
			said, code := p.install()
			if code != tc.code {
				t.Errorf("exit %d, want %d: %s", code, tc.code, said)
			}
			for _, part := range tc.say {
				if !strings.Contains(said, part) {
					t.Errorf("does not say %q: %s", part, said)
				}
			}
			_, err := os.Stat(filepath.Join(p.place, "bin", "python"))
			if there := err == nil; there != (tc.code == 0) {
				t.Errorf("usable: %v", there)
			}
			left, _ := filepath.Glob(p.place + "-*")
			if want := map[bool]int{true: 1}[tc.code == 0]; len(left) != want {
				t.Errorf("left %v", left)
			}
			if tc.code != 0 {
				return
			}
			if said, code := p.install(); said != "" || code != 0 || p.pips() != 1 {
				t.Errorf("again: exit %d after %d installations: %s", code, p.pips(), said)
			}
		})
	}
}

// TestInstallFrameworksNew: other versions are made beside the old and the link is turned.
func TestInstallFrameworksNew(t *testing.T) {
	p := newPretended(t, "")
	old := p.place + "-0123456789ab"
	if err := os.MkdirAll(filepath.Join(old, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.write("cache/frameworks-0123456789ab/sluice-frameworks", "0123456789ab\n", 0o644)
	p.write("cache/frameworks-0123456789ab/bin/python", "", 0o755)
	if err := os.Symlink(filepath.Base(old), p.place); err != nil {
		t.Fatal(err)
	}
	said, code := p.install()
	if to, err := os.Readlink(p.place); code != 0 || err != nil || to == filepath.Base(old) {
		t.Errorf("exit %d, leads to %q, %v: %s", code, to, err, said)
	}
	if _, err := os.Stat(old); err != nil || !strings.Contains(said, "no longer used: "+old) {
		t.Errorf("the old one: %v: %s", err, said)
	}
}

// TestInstallFrameworksTwice: of several at once one does the work.
func TestInstallFrameworksTwice(t *testing.T) {
	p := newPretended(t, "sleep 0.3\n")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if said, code := p.install(); code != 0 {
				t.Errorf("exit %d: %s", code, said)
			}
		})
	}
	all.Wait()
	if p.pips() != 1 {
		t.Errorf("%d installations", p.pips())
	}
}

// TestInstallFrameworksOwn: an environment made by hand is left as it is, and a
// user takes root's.
func TestInstallFrameworksOwn(t *testing.T) {
	p := newPretended(t, "")
	if err := os.MkdirAll(filepath.Join(p.place, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if said, code := p.install(); code != 69 || !strings.Contains(said, "is no Python environment") {
		t.Errorf("a folder of something else: exit %d: %s", code, said)
	}
	p.write("cache/frameworks/bin/python", "", 0o755)
	if said, code := p.install(); code != 0 || said != "" {
		t.Errorf("one's own: exit %d: %s", code, said)
	}
	p = newPretended(t, "")
	if said, code := p.install(); code != 0 {
		t.Fatalf("exit %d: %s", code, said)
	}
	said, code := p.install("SLUICE_FRAMEWORKS=", "SHARED="+p.place, "HOME=/nowhere")
	if code != 0 || said != "" || p.pips() != 1 {
		t.Errorf("root's: exit %d: %s", code, said)
	}
}

// TestInstallOptuna: Optuna is installed in the same way, beside the frameworks.
func TestInstallOptuna(t *testing.T) {
	p := newPretended(t, "")
	p.script = "install-optuna"
	optuna := filepath.Join(filepath.Dir(p.place), "optuna")
	if said, code := p.install(); code != 0 || !strings.Contains(said, "install-optuna: installing into "+optuna) {
		t.Errorf("exit %d: %s", code, said)
	}
	if said, code := p.install(); said != "" || code != 0 || p.pips() != 1 {
		t.Errorf("again: exit %d after %d installations: %s", code, p.pips(), said)
	}
	if _, err := os.Stat(filepath.Join(optuna, "bin", "python")); err != nil {
		t.Error(err)
	}
	p.script = "install-frameworks"
	if _, code := p.install(); code != 0 || p.pips() != 2 {
		t.Errorf("the frameworks: exit %d after %d installations", code, p.pips())
	}
	p = newPretended(t, "exit 1\n")
	p.script = "install-optuna"
	if said, code := p.install(); code != 75 || !strings.Contains(said, "NOT INSTALLED, and therefore skipped: sluice.optuna") {
		t.Errorf("no index: exit %d: %s", code, said)
	}
}

// TestFrameworksPinned: every package at one version, each once.
func TestFrameworksPinned(t *testing.T) {
	for file, wanted := range map[string][]string{"frameworks.txt": {"torch", "lightning", "transformers", "accelerate"}, "optuna.txt": {"optuna"}} {
		seen := pins(t, file)
		for _, name := range wanted {
			if !seen[name] {
				t.Errorf("%s: packages %v", file, seen)
			}
		}
	}
}

func pins(t *testing.T, file string) map[string]bool {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, _, _ := strings.Cut(strings.ToLower(line), "==")
		if !pinned.MatchString(line) || seen[name] {
			t.Errorf("%s: %q: not pinned, or there twice", file, line)
		}
		seen[name] = true
	}
	return seen
}

var pinned = regexp.MustCompile(`^[A-Za-z0-9._-]+==[0-9][0-9A-Za-z.]*$`)
