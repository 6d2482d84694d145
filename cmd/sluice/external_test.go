package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// A verb's program is searched in ../libexec/sluice and beside sluice itself, and nowhere
// else: not in PATH, not in the working directory; folders and files that cannot be run
// are ignored.
func TestCompanion(t *testing.T) {
	base := t.TempDir()
	bin, libexec, other := filepath.Join(base, "bin"), filepath.Join(base, "libexec", "sluice"), filepath.Join(base, "other")
	for _, dir := range []string{bin, libexec, other, filepath.Join(bin, "sluice-folder")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(other)
	t.Setenv("PATH", other)
	for path, mode := range map[string]os.FileMode{
		"bin/sluice-both": 0o755, "libexec/sluice/sluice-both": 0o755, "bin/sluice-built": 0o755,
		"bin/sluice-text": 0o644, "other/sluice-strange": 0o755,
	} {
		if err := os.WriteFile(filepath.Join(base, path), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"sluice-both": filepath.Join(libexec, "sluice-both"), "sluice-built": filepath.Join(bin, "sluice-built"),
		"sluice-text": "", "sluice-strange": "", "sluice-folder": "", "sluice-none": "",
	} {
		if got := companionOf(bin, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"", "../other/sluice-strange", "x/../y"} {
		if got := companion(name); got != "" {
			t.Errorf("%q: %q", name, got)
		}
	}
}

// Every verb that is a separate program is listed, and names the package to install if
// its program is missing, as in this test.
func TestExternalVerbs(t *testing.T) {
	var list strings.Builder
	if code := run([]string{"help"}, &list, &list); code != 0 {
		t.Fatal(list.String())
	}
	for _, e := range externals {
		if shown := strings.Contains(list.String(), "\n  "+e.verb+" "); shown == e.hidden {
			t.Errorf("%s: shown %v", e.verb, shown)
		}
		for _, args := range [][]string{{e.verb}, {e.verb, "--help"}, {"--user", e.verb, "x"}} {
			var out, errs strings.Builder
			if code := run(args, &out, &errs); code != 1 || !strings.Contains(errs.String(), "type 'apt install "+e.pack+"'") {
				t.Errorf("%q: %d, %q", args, code, errs.String())
			}
		}
		var out strings.Builder
		if code := run([]string{"help", e.verb}, &out, &out); code != 0 || !strings.Contains(out.String(), e.program) {
			t.Errorf("help %s: %d, %q", e.verb, code, out.String())
		}
		if c, _, err := newCommand(nil).Find([]string{e.verb}); err != nil || !c.DisableFlagParsing {
			t.Errorf("%s: %v", e.verb, err)
		}
	}
	if err := completeExternal([]string{cobra.ShellCompRequestCmd, "lab", "u"}); err != nil {
		t.Error(err)
	}
}
