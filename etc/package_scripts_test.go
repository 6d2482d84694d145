package etc

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPackageScripts: sluiced and its pages are started and enabled by nobody but the administrator, run the
// new release after an upgrade if they ran, and are gone after the removal. What dpkg and rpm say is as in
// Debian's policy (6.5) and in rpm-scriptlets(7).
func TestPackageScripts(t *testing.T) {
	const reload, restart = "systemctl daemon-reload\n", "systemctl try-restart sluiced sluice-web sluice-vaultd\n"
	const accounts, stop, disable = "systemd-sysusers sluice.conf\n", "systemctl stop sluice-vaultd sluice-web sluiced\n", "systemctl disable sluice-vaultd sluice-web sluiced\n"
	for _, c := range []struct{ script, says, running, image string }{ // what is called where systemd runs, and in an image
		{"sluice.postinstall", "configure ''", accounts + reload, accounts},
		{"sluice.postinstall", "configure", accounts + reload, accounts},
		{"sluice.postinstall", "configure 0.9", accounts + reload + restart, accounts},
		{"sluice.postinstall", "abort-upgrade 0.9", "", ""},
		{"sluice.postinstall", "abort-remove", "", ""},
		{"sluice.postinstall", "1", accounts + reload, accounts},
		{"sluice.postinstall", "2", accounts + reload + restart, accounts},
		{"sluice.postinstall", "10", accounts + reload + restart, accounts},
		{"sluice.preremove", "remove", stop + disable, disable},
		{"sluice.preremove", "upgrade 1.1", "", ""},
		{"sluice.preremove", "deconfigure", "", ""},
		{"sluice.preremove", "0", stop + disable, disable},
		{"sluice.preremove", "1", "", ""},
		{"sluice.postremove", "remove", reload, ""},
		{"sluice.postremove", "purge", reload, ""},
		{"sluice.postremove", "upgrade 1.1", reload, ""},
		{"sluice.postremove", "0", reload, ""},
	} {
		for manager, want := range map[bool]string{true: c.running, false: c.image} {
			if got := calledBy(t, c.script, c.says, manager); got != want {
				t.Errorf("%s %s, systemd runs %v: calls %q, want %q", c.script, c.says, manager, got, want)
			}
		}
	}
}

// calledBy runs a script of the package and returns which programs of systemd it called. They all fail, as
// systemctl does for a unit that is masked: the package MUST be installed and removed nevertheless.
func calledBy(t *testing.T, script, says string, manager bool) string {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join("packages", script))
	if err != nil {
		t.Fatal(err)
	}
	run, calls := filepath.Join(dir, "run"), filepath.Join(dir, "calls")
	if manager {
		os.Mkdir(run, 0o755)
	}
	os.Mkdir(filepath.Join(dir, "bin"), 0o755)
	for _, program := range []string{"systemctl", "systemd-sysusers"} {
		os.WriteFile(filepath.Join(dir, "bin", program), []byte("#!/bin/sh\necho \"${0##*/} $*\" >>"+calls+"\nexit 1\n"), 0o755)
	}
	body := strings.ReplaceAll(string(text), "/run/systemd/system", run)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "set -- "+says+"\n"+body)
	cmd.Env = []string{"PATH=" + filepath.Join(dir, "bin")}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s %s: %v: %s", script, says, err, out)
	}
	called, _ := os.ReadFile(calls)
	return string(called)
}
