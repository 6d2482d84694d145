package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fixing runs fix on a file and returns what it says.
func fixing(t *testing.T, path string, all []finding, dry bool) string {
	t.Helper()
	var out strings.Builder
	if err := fix(&out, patient{config: path}, all, dry); err != nil {
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
	if out := fixing(t, path, recommended, true); !strings.Contains(out, "not written") {
		t.Errorf("--dry-run says %q", out)
	}
	if raw, _ := os.ReadFile(path); string(raw) != text {
		t.Fatalf("--dry-run wrote %q", raw)
	}
	out := fixing(t, path, recommended, false)
	want := "\n--- " + path + "\n+++ " + path + "\n@@ line 2\n [users]\n-private = false # yet\n+private = true # yet\nwrote " + path +
		"; as it was before it is in " + path + ".old.2\n-> let sluiced read it: systemctl reload sluiced, or send it SIGHUP\n" +
		"left to do by hand:\n  FAIL  jobs: /shared/sluice/jobs does not exist\n        -> install -d -m 3777 /shared/sluice/jobs\n"
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
	out := fixing(t, path, recommended[:2], false)
	if raw, _ := os.ReadFile(path); string(raw) != "[users]\nprivate = true\n" || !strings.Contains(out, "+[users]\n+private = true\n") || strings.Contains(out, ".old") ||
		!strings.HasSuffix(out, "nothing is left to do by hand\n") {
		t.Errorf("wrote %q, said %q", raw, out)
	}
	if out := fixing(t, path, recommended[:1], false); !strings.Contains(out, "nothing to change") {
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
	fixing(t, link, recommended, false)
	raw, _ := os.ReadFile(real)
	if to, err := os.Readlink(link); err != nil || to != "real.toml" || string(raw) != "[log]\nlevel = \"warn\"\n\n[users]\nprivate = true\n" {
		t.Errorf("%q, %v, %q", to, err, raw)
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
		err := fix(&out, patient{config: path}, recommended, false)
		if raw, _ := os.ReadFile(path); err == nil || string(raw) != text || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v, now %q", text, err, raw)
		}
	}
}
