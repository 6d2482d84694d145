package etc_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestInstallPackages runs the script with a pretended Debian around it:
// dpkg-query answers from the files in a folder, apt-get writes there or fails.
func TestInstallPackages(t *testing.T) {
	for _, tc := range []struct {
		name      string
		installed string // packages there already
		apt       string // what apt-get does
		uid       string
		sudo      bool
		code      int
		say       []string // parts of what is printed; none = nothing at all
	}{
		{name: "all there", installed: "gcc libc6-dev slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge slurmdbd mariadb-server-core mariadb-client-core python3 python3-torch python3-venv openmpi-bin python3-mpi4py bubblewrap man-db rpm bash-completion chromium", apt: "exit 9", uid: "0"},
		{name: "installs", installed: "gcc libc6-dev python3", apt: installs, uid: "0", say: []string{"installing slurmctld slurmd"}},
		{name: "lists are old", installed: "gcc", apt: `[ -e "$FAKE/updated" ] || { case "$*" in *update*) touch "$FAKE/updated"; exit 0;; esac; exit 100; }` + "\n" + installs, uid: "0", say: []string{"installing"}},
		{name: "through sudo", installed: "gcc", apt: installs, uid: "7", sudo: true, say: []string{"installing"}},
		{name: "no rights", installed: "gcc", apt: "exit 9", uid: "7", code: 77, say: []string{"not root and there is no sudo; let root type: apt-get install libc6-dev"}},
		{name: "archive unreachable", installed: "gcc libc6-dev python3", apt: `echo "E: Failed to fetch x"; exit 100`, uid: "0", code: 75,
			say: []string{"NOT INSTALLED", "slurmctld: everything on a real Slurm", "python3-torch: PyTorch", "| E: Failed to fetch"}},
		{name: "unknown package", installed: "gcc", apt: `echo "E: Unable to locate package slurmd"; exit 100`, uid: "0", code: 69, say: []string{"does not have them"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			said, code := pretend(t, tc.installed, tc.apt, tc.uid, tc.sudo)
			if code != tc.code {
				t.Errorf("exit %d, want %d: %s", code, tc.code, said)
			}
			if len(tc.say) == 0 && said != "" {
				t.Errorf("not quiet: %s", said)
			}
			for _, part := range tc.say {
				if !strings.Contains(said, part) {
					t.Errorf("does not say %q: %s", part, said)
				}
			}
		})
	}
}

// installs pretends to install every word that is no option.
const installs = `for p; do case "$p" in -*|*=*|install|update) ;; *) touch "$FAKE/is/$p";; esac; done`

// pretend runs the script and returns what it printed and its exit status.
func pretend(t *testing.T, installed, apt, uid string, sudo bool) (string, int) {
	t.Helper()
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	for _, d := range []string{bin, filepath.Join(dir, "is")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range strings.Fields(installed) {
		if err := os.WriteFile(filepath.Join(dir, "is", p), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fakes := map[string]string{
		"dpkg-query": `for p; do :; done; [ -e "$FAKE/is/$p" ] && printf installed`,
		"apt-get":    apt,
		"id":         "echo " + uid,
	}
	if sudo {
		fakes["sudo"] = `exec "$@"`
	}
	for name, body := range fakes {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// The rest of the system, without its own sudo, apt-get and dpkg-query.
	for _, name := range []string{"sh", "mktemp", "rm", "env", "grep", "tail", "sed", "touch", "tee", "chmod"} {
		if path, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	script, err := filepath.Abs("install-packages")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", script)
	cmd.Env = []string{"PATH=" + bin, "FAKE=" + dir, "POLICY=" + filepath.Join(dir, "policy-rc.d"), "TMPDIR=" + dir}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "policy-rc.d")); err == nil {
		t.Error("the policy against starting daemons was left behind")
	}
	return string(out), cmd.ProcessState.ExitCode()
}
