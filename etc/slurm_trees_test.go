package etc_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// forest is a pretended Debian for etc/slurm-trees: dpkg-query answers from a file
// in each tree, debootstrap writes it, or fails as the file FAKE/broken says.
type forest struct {
	*testing.T
	dir string
}

// carried is the Slurm that the pretended debootstrap puts into each suite.
const carried = `case $suite in
bullseye) v='20.11.7+really20.11.4-2+deb11u1' ;;
trixie) v=24.11.5-4 ;;
forky) v=26.11.1-1 ;; # a testing that has moved on
sid) v=26.05.5-1 ;;
esac`

func newForest(t *testing.T) *forest {
	f := &forest{T: t, dir: t.TempDir()}
	for name, body := range map[string]string{
		// No --admindir: this machine.
		"dpkg-query": `at=$FAKE/own; case $1 in --admindir=*) at=${1#--admindir=}/slurmctld ;; esac
[ -e "$at" ] && echo "installed $(cat "$at")"`,
		"debootstrap": `for p; do case $p in --*) ;; *) suite=$p; tree=$2; break ;; esac; shift; done
echo "$suite $3 $(basename "$4")" >>"$FAKE/made"
grep -qx "$suite" "$FAKE/broken" 2>/dev/null && { echo "E: no such mirror"; exit 1; }
` + carried + `
mkdir -p "$tree/var/lib/dpkg" "$tree/usr/share/man" && echo "$v" >"$tree/var/lib/dpkg/slurmctld"`,
		"apt-get":    `echo "$(. /etc/os-release; echo $VERSION_CODENAME) Debian http://mirror.example/debian/"`,
		"apt-config": ":",
		"id":         "echo 0",
		"df":         `echo x; echo "x x x ${ROOM:-9000000}"`,
	} {
		f.program(name, body)
	}
	for _, name := range []string{"sh", "mktemp", "rm", "mv", "mkdir", "env", "grep", "tail", "sed", "awk", "tr", "cat", "flock", "timeout", "basename"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("NOT TESTED: no %s here", name)
		}
		if err := os.Symlink(path, filepath.Join(f.dir, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	f.write("scripts/sid", "")
	f.write("scripts/bullseye", "")
	return f
}

func (f *forest) program(name, body string) {
	f.write("bin/"+name, "#!/bin/sh\n"+body+"\n")
	if err := os.Chmod(filepath.Join(f.dir, "bin", name), 0o755); err != nil {
		f.Fatal(err)
	}
}

func (f *forest) write(name, text string) {
	f.Helper()
	path := filepath.Join(f.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		f.Fatal(err)
	}
}

// run runs the script and returns what it printed and its exit status.
func (f *forest) run(args ...string) (string, int) {
	f.Helper()
	script, err := filepath.Abs("slurm-trees")
	if err != nil {
		f.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", append([]string{script}, args...)...)
	cmd.Env = []string{"PATH=" + filepath.Join(f.dir, "bin"), "FAKE=" + f.dir, "TMPDIR=" + f.dir,
		"SCRIPTS=" + filepath.Join(f.dir, "scripts"), "SLUICE_TREES=" + filepath.Join(f.dir, "trees")}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		f.Fatal(err)
	}
	return strings.ReplaceAll(string(out), f.dir, ""), cmd.ProcessState.ExitCode()
}

// expect runs the script and wants its exit status and words in what it prints.
func (f *forest) expect(code int, args []string, words ...string) {
	f.Helper()
	said, got := f.run(args...)
	if got != code {
		f.Errorf("%v: exit %d, want %d: %s", args, got, code, said)
	}
	for _, w := range words {
		if !strings.Contains(said, w) {
			f.Errorf("%v: does not say %q: %s", args, w, said)
		}
	}
}

func TestSlurmTreesPlan(t *testing.T) {
	f := newForest(t)
	f.write("own", "22.05.8-4+deb12u3")
	f.write("trees/trixie/var/lib/dpkg/slurmctld", "24.11.5-4")
	f.write("trees/bullseye/var/lib/dpkg/slurmctld", "19.05.5-1") // not what it is there for
	want := `20.11  bullseye    /trees/bullseye  not built
22.05  bookworm    this machine's own, 22.05.8
24.11  trixie      /trees/trixie  built, 24.11.5
26.05  forky       /trees/forky  not built
`
	if got, _ := f.run("--list"); got != want {
		t.Errorf("plan:\n%swant:\n%s", got, want)
	}
	if got, _ := f.run("--roots"); got != "/trees/trixie\n" {
		t.Errorf("roots: %q", got)
	}
	f.expect(64, []string{"--lst"}, "unknown argument --lst")
}

func TestSlurmTreesBuilds(t *testing.T) {
	f := newForest(t)
	f.write("own", "22.05.8-4+deb12u3")
	f.write("trees/.trixie.new/half", "") // somebody killed an earlier one
	f.expect(0, nil, "building Debian bullseye from http://mirror.example/debian/", "Debian forky carries Slurm 26.11.1, no longer 26.05")
	if got, _ := f.run("--roots"); got != "/trees/bullseye:/trees/trixie:/trees/sid\n" {
		t.Errorf("roots: %q", got)
	}
	made, _ := os.ReadFile(filepath.Join(f.dir, "made"))
	for _, want := range []string{"bullseye http://mirror.example/debian/ bullseye", "trixie http://mirror.example/debian/ sid"} {
		if !strings.Contains(string(made), want+"\n") {
			t.Errorf("debootstrap was not called as %q:\n%s", want, made)
		}
	}
	for _, left := range []string{"trees/.trixie.new", "trees/.trixie.debs", "trees/.forky.new", "trees/trixie/half", "trees/trixie/usr/share/man"} {
		if _, err := os.Stat(filepath.Join(f.dir, left)); err == nil {
			t.Errorf("%s was left", left)
		}
	}
	if said, code := f.run(); said != "" || code != 0 {
		t.Errorf("built, and not quiet: exit %d: %s", code, said)
	}
}

// TestSlurmTreesSkips: what cannot be had is named, and the rest is built.
func TestSlurmTreesSkips(t *testing.T) {
	f := newForest(t)
	f.write("broken", "bullseye\n")
	f.program("dpkg-query", strings.ReplaceAll(`at=$FAKE/own; case $1 in --admindir=*) at=${1#--admindir=}/slurmctld ;; esac
[ -e "$at" ] && echo "installed $(cat "$at")"`, "$FAKE/own", "$FAKE/none"))
	f.expect(75, nil, "| E: no such mirror", "Debian bullseye cannot be had now", "NOT BUILT, and therefore not tested:", "20.11  bullseye")
	if got, _ := f.run("--roots"); got != "/trees/trixie:/trees/sid\n" {
		t.Errorf("roots: %q", got)
	}
}

func TestSlurmTreesWithoutRoom(t *testing.T) {
	f := newForest(t)
	f.program("df", `echo x; echo "x x x 1000"`)
	f.expect(75, nil, "1500 MB of room are wanted", "NOT BUILT")
}
