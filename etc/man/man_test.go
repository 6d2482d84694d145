package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPage: a help text becomes a page with the same words: paragraphs are filled, lists keep
// their names, what stands in columns stays as it is, and nothing is taken for a request of roff.
func TestPage(t *testing.T) {
	help := "Does\nit.\n\nSizes\n  --min=N   fewest,\n            or one\n  --long-option=TIME\n                how long\n  --steps=N\n\n  %i jobid   %j name   %u user\n\n.hidden 'x' a-b \\n\n\nUsage:\n  sluice x [flags]\n\nExamples:\n  sluice x 1\n\nFlags:\n  -h, --help   help\n\nUse \"sluice x --help\" for more.\n"
	got := page("sluice-x", "Do it", help, foot{"1.0", "2026-01-02"})
	for _, want := range []string{
		".TH SLUICE\\-X 1 2026-01-02 \"sluice 1.0\"", ".SH NAME\nsluice\\-x \\- Do it\n", ".SH SYNOPSIS\n.B sluice x [flags]\n", "Does it.\n", ".SS Sizes\n",
		".TP\n\\fB\\-\\-min=N\\fR\nfewest, or one\n", ".TP\n\\fB\\-\\-long\\-option=TIME\\fR\nhow long\n", ".TP\n\\fB\\-\\-steps=N\\fR\n\\&\n", ".nf\n%i jobid   %j name   %u user\n.fi",
		"\n\\&.hidden \\(aqx\\(aq a\\-b \\en\n", ".SH EXAMPLES\n.PP\n.RS 4\n.nf\nsluice x 1\n", ".SH OPTIONS\n.TP\n\\fB\\-h, \\-\\-help\\fR\nhelp\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "Use \"") {
		t.Errorf("the page says how to get help:\n%s", got)
	}
}

// FuzzPage: whatever a help text contains, no line of it becomes a request that the page did not write.
func FuzzPage(f *testing.F) {
	f.Add("a\n.so /etc/passwd\n'br\n  .x  y\n  --a\n        .b\n")
	f.Fuzz(func(t *testing.T, help string) {
		for line := range strings.SplitSeq(page("x", "y", help, foot{"1", "2026-01-02"}), "\n") {
			word, _, _ := strings.Cut(line, " ")
			if (strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'")) && !strings.Contains(" .\\\" .TH .nh .ad .SH .SS .PP .TP .RS .RE .nf .fi .B .BR .br ", " "+word+" ") {
				t.Fatalf("%q writes the line %q", help, line)
			}
		}
	})
}

// TestGuide: links become names of pages, tables lists, and what only the source is for is gone.
func TestGuide(t *testing.T) {
	w := writer{foot: foot{"1.0", "2026-01-02"}}
	got, err := w.guide("sluice-x", "# Do it\n\nSee [how](deciding.md#a) and [that](../x.go).\n\n| a | b |\n|---|---|\n| one | two |\n\n```sh f.sh\necho\n```\n<!-- note -->\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"sluice-x \\- Do it", "how (\\fBsluice-how-it-decides\\fP(7)) and that.", "one: two", "echo"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "note") || strings.Contains(got, "f.sh") {
		t.Errorf("too much:\n%s", got)
	}
	if _, err := w.guide("x", "no title\n"); err == nil {
		t.Error("a page without a title")
	}
}

// TestConfiguration: keys that share a comment share an entry.
func TestConfiguration(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "c.toml")
	if err := os.WriteFile(file, []byte("# All.\n\n[a]\n\n# First.\n#\n#   as it is\n#\n# Second.\nx = 1\ny_z = \"2\"\n\n# Of others\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	w := writer{to: dir, foot: foot{"1.0", "2026-01-02"}}
	if err := w.configuration(file); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "man5", "sluice.toml.5"))
	if want := ".SH DESCRIPTION\nAll.\n.SH [a]\n.TP\n\\fBx\\fR = 1\n.TQ\n\\fBy_z\\fR = \"2\"\nFirst.\n.PP\n.RS 4\n.nf\nas it is\n.fi\n.RE\n.IP\nSecond.\n.PP\nOf others\n"; err != nil || !strings.Contains(string(raw), want) {
		t.Errorf("%v: no\n%s\nin\n%s", err, want, raw)
	}
}
