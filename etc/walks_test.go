package etc

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// walkStep is a file and a function that ARCHITECTURE.md names in a walk.
var walkStep = regexp.MustCompile("`([a-z/_]+\\.go)` ([A-Z][A-Za-z]+|[a-z]+):")

// TestWalksLead: each step of the walks through the code names a function that stands there.
func TestWalksLead(t *testing.T) {
	page, err := os.ReadFile("../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, walks, _ := strings.Cut(string(page), "## Four walks\n")
	walks, _, _ = strings.Cut(walks, "\n## ")
	steps := walkStep.FindAllStringSubmatch(walks, -1)
	if len(steps) < 8 {
		t.Errorf("%d steps were found: %q", len(steps), steps)
	}
	for _, s := range steps {
		text, err := os.ReadFile("../" + s[1])
		if err != nil {
			t.Error(err)
			continue
		}
		if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + s[2] + `\(|^type ` + s[2] + ` `).Match(text) {
			t.Errorf("%s has no %s", s[1], s[2])
		}
	}
}

// TestGlossary: the glossary explains each word once.
func TestGlossary(t *testing.T) {
	page, err := os.ReadFile("../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, glossary, _ := strings.Cut(string(page), "\n## Glossary\n")
	glossary, _, _ = strings.Cut(glossary, "\n## ")
	explained := map[string]bool{}
	for line := range strings.Lines(glossary) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.HasPrefix(cells[1], "-") {
			continue
		}
		for word := range strings.SplitSeq(cells[1], ",") {
			if word = strings.TrimSpace(word); explained[word] {
				t.Errorf("%q is explained twice", word)
			}
			explained[word] = true
		}
	}
	if len(explained) < 60 {
		t.Errorf("only %d words", len(explained))
	}
}
