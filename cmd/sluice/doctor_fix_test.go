package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// yes and no are the answers of a user.
func yes() (bool, error) { return true, nil }
func no() (bool, error)  { return false, nil }

// fixSays runs fix on a file and returns what it says.
func fixSays(t *testing.T, path string, all []finding, how fixing) string {
	t.Helper()
	var out strings.Builder
	if err := fix(&out, patient{config: path}, all, how); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

var recommended = []finding{
	passed("gpus", "fine"),
	mended(warned("privacy", "set it", "not private"), "users", "private", "true"),
	typed(failed("jobs", "", "/shared/sluice/jobs does not exist"), "install -d -m 3777 /shared/sluice/jobs"),
}

// TestFix: the file gets what is recommended, the old one stays beside it under a name that is
// free, with its mode, and what cannot be repaired is named with what to type.
func TestFix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sluice.toml")
	const text = "# ours\n[users]\nprivate = false # yet\n"
	for _, f := range []string{path, path + ".old"} {
		if err := os.WriteFile(f, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(path, 0o640); err != nil { // whatever the umask
		t.Fatal(err)
	}
	changes := "\n--- " + path + "\n+++ " + path + "\n@@ -1,3 +1,3 @@\n # ours\n [users]\n-private = false # yet\n+private = true # yet\n"
	by := "left to do by hand:\n  FAIL  jobs: /shared/sluice/jobs does not exist\n        -> install -d -m 3777 /shared/sluice/jobs\n"
	for said, how := range map[string]fixing{"not written, because of --dry-run: ": {dry: true, agree: yes}, "not written: ": {agree: no}} {
		if out := fixSays(t, path, recommended, how); out != changes+said+path+"\n"+by {
			t.Errorf("%ssaid %q", said, out)
		}
	}
	var pipe strings.Builder
	err := fix(&pipe, patient{config: path}, recommended, fixing{agree: func() (bool, error) { return false, errNotAsked }})
	if !errors.Is(err, errNotAsked) || !strings.Contains(err.Error(), "type 'sluice doctor --fix --yes'") || pipe.String() != changes+by {
		t.Errorf("without a terminal: %v, said %q", err, pipe.String())
	}
	if all, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(all) != 2 {
		t.Fatalf("wrote without a yes: %q", all)
	}
	if raw, _ := os.ReadFile(path); string(raw) != text {
		t.Fatalf("wrote %q without a yes", raw)
	}
	shown := ""
	out := fixSays(t, path, recommended, fixing{agree: func() (bool, error) {
		raw, _ := os.ReadFile(path)
		shown = string(raw)
		return true, nil
	}})
	if shown != text {
		t.Errorf("before the question there was %q", shown)
	}
	want := changes + "wrote " + path +
		"; as it was before it is in " + path + ".old.2\n-> let sluiced read it: systemctl reload sluiced, or send it SIGHUP\n" + by
	if out != want {
		t.Errorf("said %q, want %q", out, want)
	}
	raw, _ := os.ReadFile(path)
	old, _ := os.ReadFile(path + ".old.2")
	info, err := os.Stat(path)
	if string(raw) != "# ours\n[users]\nprivate = true # yet\n" || string(old) != text || err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("wrote %q, kept %q, %v %v", raw, old, info, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".sluice-fix-*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// TestFixWithoutFile: a site without a file gets one with what is recommended alone.
func TestFixWithoutFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "sluice.toml")
	out := fixSays(t, path, recommended[:2], fixing{agree: yes})
	if raw, _ := os.ReadFile(path); string(raw) != "[users]\nprivate = true\n" || !strings.Contains(out, "--- /dev/null\n+++ "+path+"\n@@ -0,0 +1,2 @@\n+[users]\n+private = true\nwrote ") || strings.Contains(out, ".old") ||
		!strings.HasSuffix(out, "nothing is left to do by hand\n") {
		t.Errorf("wrote %q, said %q", raw, out)
	}
	if out := fixSays(t, path, recommended[:1], fixing{agree: yes}); !strings.Contains(out, "nothing to change") {
		t.Errorf("said %q", out)
	}
}

// TestFixKeepsLinks: a configuration that is a link to a file elsewhere stays one.
func TestFixKeepsLinks(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real.toml"), filepath.Join(dir, "sluice.toml")
	if err := os.WriteFile(real, []byte("[log]\nlevel = \"warn\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real.toml", link); err != nil {
		t.Fatal(err)
	}
	fixSays(t, link, recommended, fixing{agree: yes})
	raw, _ := os.ReadFile(real)
	if to, err := os.Readlink(link); err != nil || to != "real.toml" || string(raw) != "[log]\nlevel = \"warn\"\n\n[users]\nprivate = true\n" {
		t.Errorf("%q, %v, %q", to, err, raw)
	}
}

// TestFixChangedMeanwhile: what somebody wrote while the user read the difference stays.
func TestFixChangedMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sluice.toml")
	var out strings.Builder
	err := fix(&out, patient{config: path}, recommended, fixing{agree: func() (bool, error) {
		return true, os.WriteFile(path, []byte("[log]\n"), 0o644)
	}})
	if raw, _ := os.ReadFile(path); err == nil || !strings.Contains(err.Error(), "changed meanwhile") || string(raw) != "[log]\n" {
		t.Errorf("%v, now %q", err, raw)
	}
}

// TestIsYes: only a yes is one.
func TestIsYes(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "YES\n": true, " yes \n": true, "\n": false, "": false, "n\ny\n": false, "yeah\n": false, strings.Repeat(" ", 100) + "y\n": false} {
		if got := isYes(strings.NewReader(answer)); got != want {
			t.Errorf("%q: %v", answer, got)
		}
	}
}

// TestFixRefuses: a file that is no configuration is not written to.
func TestFixRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sluice.toml")
	for _, text := range []string{"[users\n", "users.private = false\n"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		err := fix(&out, patient{config: path}, recommended, fixing{agree: yes})
		if raw, _ := os.ReadFile(path); err == nil || string(raw) != text || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v, now %q", text, err, raw)
		}
	}
}
