package etc

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	pageLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// anchorOf is the name by which a page's heading is linked to.
func anchorOf(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case r == ' ', r == '-':
			b.WriteByte('-')
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_':
			b.WriteRune(r)
		}
	}
	return b.String()
}

// broken lists the links of a page, at path, that lead to no file, or to no heading of it.
func broken(path, text string) (out []string) {
	for _, m := range pageLink.FindAllStringSubmatch(text, -1) {
		target, anchor, _ := strings.Cut(m[1], "#")
		if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
			continue
		}
		page := text
		if target != "" {
			raw, err := os.ReadFile(filepath.Join(filepath.Dir(path), target))
			if info, e := os.Stat(filepath.Join(filepath.Dir(path), target)); err != nil && (e != nil || !info.IsDir()) {
				out = append(out, m[1])
				continue
			}
			page = string(raw)
		}
		if anchor == "" {
			continue
		}
		found := false
		for _, h := range heading.FindAllStringSubmatch(page, -1) {
			found = found || anchorOf(h[1]) == anchor
		}
		if !found {
			out = append(out, m[1])
		}
	}
	return out
}

// TestLinksLeadSomewhere: every page of the project links to files and headings that exist.
func TestLinksLeadSomewhere(t *testing.T) {
	if got := broken("../README.md", "[a](README.md#more) [b](nowhere.md) [c](README.md#no-such-heading) [d](#here)\n# Here"); strings.Join(got, " ") != "nowhere.md README.md#no-such-heading" {
		t.Fatalf("the check itself finds %q", got)
	}
	pages := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "bin" || d.Name() == "dist") {
			if d != nil && d.IsDir() {
				return filepath.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(path, ".md") {
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		pages++
		for _, link := range broken(path, string(raw)) {
			t.Errorf("%s: %s leads nowhere", path, link)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if pages < 10 {
		t.Errorf("%d pages were read", pages)
	}
}
