package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/cpuguy83/go-md2man/v2/md2man"
)

// guides are the pages of section 7 and the guides in etc/doc that they are made from.
var guidePages = []struct{ name, file string }{
	{"sluice-tutorial", "tutorial.md"},
	{"sluice-admin", "administration.md"},
	{"sluice-how-it-decides", "deciding.md"},
	{"sluice-python", "programs.md"},
	{"sluice-data-sets", "data.md"},
}

var (
	link   = regexp.MustCompile(`\[([^\]]+)\]\(([^)\s]+)\)`)
	marker = regexp.MustCompile(`(?s)<!--.*?-->\n?`)
	fence  = regexp.MustCompile("(?m)^```[a-z]*.*$")
)

func (w writer) guides(dir string) error {
	for _, g := range guidePages {
		raw, err := os.ReadFile(filepath.Join(dir, g.file))
		if err != nil {
			return err
		}
		text, err := w.guide(g.name, string(raw))
		if err != nil {
			return fmt.Errorf("%s: %w", g.file, err)
		}
		if err := w.write(g.name, 7, text); err != nil {
			return err
		}
	}
	return nil
}

// guide returns the page of a guide in Markdown: its title becomes the description in NAME,
// links to files become the names of their pages.
func (w writer) guide(name, text string) (string, error) {
	title, rest, found := strings.Cut(text, "\n")
	if !strings.HasPrefix(title, "# ") || !found {
		return "", fmt.Errorf("it does not begin with a title")
	}
	rest = link.ReplaceAllStringFunc(marker.ReplaceAllString(rest, ""), func(s string) string {
		m := link.FindStringSubmatch(s)
		if strings.Contains(m[2], "://") {
			return m[1] + " (" + m[2] + ")"
		}
		for _, g := range guidePages {
			if file, _, _ := strings.Cut(m[2], "#"); file == g.file {
				return m[1] + " (**" + g.name + "**(7))"
			}
		}
		return m[1]
	})
	rest = listed(rest)
	rest = fence.ReplaceAllString(rest, "```") // what a fence says of its language is for other readers
	head := fmt.Sprintf("%% %s 7 %s \"sluice %s\" \"sluice manual\"\n\n# NAME\n\n%s - %s\n\n# DESCRIPTION\n\n",
		strings.ToUpper(name), w.date, w.version, name, strings.TrimPrefix(title, "# "))
	page := string(md2man.Render([]byte(head + rest)))
	return strings.Replace(page, "\n.SH NAME", "\n.ad l\n.SH NAME", 1), nil // md2man fills lines to both margins
}

// listed turns tables into lists, since a terminal is too narrow for most: a row's first cell
// is the entry's name, the others follow with the heads of their columns if there are several.
func listed(text string) string {
	var out, heads []string
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "|") {
			if i > 0 && strings.HasPrefix(lines[i-1], "|") { // else the parser takes what follows for the last entry's
				out = append(out, "", "<!-- -->")
			}
			heads = nil
			out = append(out, line)
			continue
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if strings.HasPrefix(line, "| |") { // the head of the first column is empty
			cells = append([]string{""}, cells...)
		}
		switch {
		case heads == nil && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "|-"):
			heads = cells
			continue
		case strings.HasPrefix(line, "|-"):
			continue
		}
		entry := "- " + cells[0]
		for n, cell := range cells[1:] {
			head := ""
			if len(heads) > 2 && n+1 < len(heads) && strings.TrimSpace(heads[n+1]) != "" {
				head = strings.TrimSpace(heads[n+1]) + ": "
			}
			if cell = strings.TrimSpace(cell); cell != "" {
				entry += map[bool]string{true: ": ", false: "; "}[n == 0] + head + cell
			}
		}
		out = append(out, entry)
	}
	return strings.Join(out, "\n")
}

// daemon copies sluiced(8), with date and release.
func (w writer) daemon(path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	const undated = `.TH SLUICED 8 "" sluice `
	if !strings.Contains(string(raw), undated) {
		return fmt.Errorf("%s: no line %q to date", path, undated)
	}
	return w.write("sluiced", 8, strings.Replace(string(raw), undated, fmt.Sprintf(".TH SLUICED 8 %s %q ", w.date, "sluice "+w.version), 1))
}
