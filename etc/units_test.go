package etc

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// systemd itself reads the units; the programs need not be installed.
func TestUnitsVerify(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("SKIPPED, units not verified: systemd-analyze is not installed")
	}
	for unit, mode := range map[string]string{"sluiced.service": "--system", "sluice-web.service": "--system", "sluice-vaultd.service": "--system", "sluiced-user.service": "--user"} {
		t.Run(unit, func(t *testing.T) {
			dir := t.TempDir()
			copied := filepath.Join(dir, unit)
			text := strings.ReplaceAll(read(t, unit), "/usr/bin/sluiced", "/bin/true")
			text = strings.ReplaceAll(text, "/usr/bin/sluice-vaultd", "/bin/true")
			text = strings.ReplaceAll(text, "/usr/libexec/sluice/sluice-web", "/bin/true")
			if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), analyze, mode, "verify", "--man=no", copied)
			cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir)
			out, err := cmd.CombinedOutput()
			if err != nil || len(out) > 0 {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// exposures is how exposed each unit may be, in tenths, by the words of
// "systemd-analyze security": 0 is closed, 100 open. A user's unit is scored as if
// root ran it, for want of another way.
var exposures = map[string]int{"sluiced.service": 12, "sluice-web.service": 12, "sluice-vaultd.service": 12, "sluiced-user.service": 62}

// What is let out of the sandbox by a change shows here.
func TestUnitsExposure(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("SKIPPED, exposure of the units not scored: systemd-analyze is not installed")
	}
	for unit, most := range exposures {
		t.Run(unit, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), analyze, "security", "--offline=true", "--no-pager",
				"--threshold="+strconv.Itoa(most), "./"+unit)
			cmd.Env = append(os.Environ(), "SYSTEMD_COLORS=0")
			out, err := cmd.CombinedOutput()
			said := string(out)
			at := strings.LastIndex(said, "Overall exposure level")
			if at < 0 { // systemd older than 250 scores only what runs
				t.Skipf("SKIPPED, exposure of the units not scored: %v: %s", err, said)
			}
			t.Log(strings.TrimSpace(said[at:]))
			if err != nil {
				t.Errorf("more than %d.%d:\n%s", most/10, most%10, said)
			}
		})
	}
}

// The units, the snippets and the default configuration name the same places.
func TestPathsAgree(t *testing.T) {
	c := Default()
	for file, want := range map[string][]string{
		"sluiced.service": {"ReadWritePaths=-" + c.Paths.Outbox, "StateDirectory=" + filepath.Base(c.Paths.State),
			"RuntimeDirectory=" + filepath.Base(filepath.Dir(c.Paths.Socket)), "User=sluice", "Type=notify", "ExecReload="},
		"sluiced-user.service": {"ExecStart=/usr/bin/sluiced --user", "Type=notify"},
		"sluice-web.service":   {"--socket /run/sluice-web/socket --base /sluice", "RuntimeDirectory=sluice-web", "User=sluice-web"},
		"sluice-vaultd.service": {"ReadWritePaths=-" + c.Paths.Jobs, "StateDirectory=" + filepath.Base(c.Data.Root), "StateDirectoryMode=0700",
			"RuntimeDirectory=" + filepath.Base(filepath.Dir(c.Data.Socket)), "User=sluice-data"},
		"web/apache.conf": {"unix:/run/sluice-web/socket|http://localhost/sluice", "RequestHeader set Remote-User"},
		"web/nginx.conf":  {"http://unix:/run/sluice-web/socket;", "proxy_set_header Remote-User   $remote_user;"},
		"sluice.tmpfiles": {"d " + c.Paths.Jobs + "   3777 ", "d " + c.Paths.Outbox + " 0755 "},
		"sluice.sysusers": {"u sluice ", c.Paths.State, "u sluice-data ", c.Data.Root},
		"epilog-sluice":   {`sluice event --job "$SLURM_JOB_ID"`},
	} {
		text := read(t, file)
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s lacks %q", file, w)
			}
		}
	}
}

// What the units name as documentation is packed, and the page names every option of
// sluiced and the places of the defaults.
func TestManPage(t *testing.T) {
	page := strings.ReplaceAll(read(t, "sluiced.8"), `\-`, "-")
	for _, unit := range []string{"sluiced.service", "sluiced-user.service"} {
		for line := range strings.Lines(read(t, unit)) {
			if doc, is := strings.CutPrefix(strings.TrimSpace(line), "Documentation="); is && doc != "man:sluiced(8)" {
				t.Errorf("%s: %s is not packed", unit, doc)
			}
		}
	}
	c := Default()
	for _, want := range []string{"--config", "--user", "--lab", "check", c.Paths.Jobs, c.Paths.Outbox, c.Paths.Socket, c.Paths.State + "/sluice.db", systemFile} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not name %s", want)
		}
	}
	man, err := exec.LookPath("man")
	if err != nil {
		t.Skip("SKIPPED, the page was not formatted: there is no man")
	}
	out, err := exec.CommandContext(t.Context(), man, "--warnings", "-l", "sluiced.8").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "decide how many GPUs") || strings.Contains(string(out), "warning:") {
		t.Errorf("%v\n%s", err, out)
	}
}

// slurmctld waits for its epilog: it must be valid, quick and never fail, even
// where sluice is not there.
func TestEpilogHarmless(t *testing.T) {
	for _, job := range []string{"", "42", "; touch harm"} {
		dir := t.TempDir()
		script, err := filepath.Abs("epilog-sluice")
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "/bin/sh", script)
		cmd.Dir, cmd.Env = dir, []string{"PATH=/usr/bin:/bin", "SLURM_JOB_ID=" + job}
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("job %q: %v %s", job, err, out)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("job %q left %v", job, left)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
