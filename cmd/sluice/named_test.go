package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var (
	// namedCommand is a command of sluice in a text: in quotes, or after a prompt or "type:".
	namedCommand = regexp.MustCompile("(?:[^=\\w]'sluice ([a-z][^'`\"\n#;|&()]*)'|`sluice ([a-z][^'`\"\n#;|&()]*)`|(?:\\$ |\\btype: )(?:bin/)?sluice ([a-z][^'`\"\n#;|&()]*))")
	namedOption  = regexp.MustCompile(`^--([a-z][a-z-]*)`)
	namedWord    = regexp.MustCompile(`^[a-z][a-z-]*$`)
)

// misnamed returns what a command names that root does not have: its verb, a verb below that, or an option.
func misnamed(root *cobra.Command, command string) string {
	c, external := root, false
	for word := range strings.FieldsSeq(command) {
		if !external && c.HasSubCommands() && !strings.HasPrefix(word, "-") {
			if !namedWord.MatchString(strings.TrimRight(word, ".,:")) {
				return "" // a word in place of a verb, as VERB
			}
			i := slices.IndexFunc(c.Commands(), func(sub *cobra.Command) bool { return sub.Name() == strings.TrimRight(word, ".,:") })
			if i < 0 {
				return word
			}
			c = c.Commands()[i]
			external = c.DisableFlagParsing // its options are another program's, or sbatch's
			continue
		}
		if o := namedOption.FindStringSubmatch(word); o != nil && !external && o[1] != "help" && c.Flag(o[1]) == nil && !strings.Contains(c.Use, o[0]) {
			return "--" + o[1]
		}
		if word == "--" {
			return ""
		}
	}
	return ""
}

// TestNamedCommands: guides, alert rules, units, and texts in the source name verbs and options that exist.
func TestNamedCommands(t *testing.T) {
	root := newCommand(nil)
	root.InitDefaultHelpCmd()
	for command, want := range map[string]string{
		"list": "list", "queue": "", "queue --no-such": "--no-such", "nodes --trust NODE": "", "sweep list 7": "", "sweep lost": "lost", "web --anything": "", "VERB --help": "",
	} {
		if got := misnamed(root, command); got != want {
			t.Fatalf("the check itself: %q misnames %q, want %q", command, got, want)
		}
	}
	named := 0
	check := func(path, text string) {
		for _, m := range namedCommand.FindAllStringSubmatch(text, -1) {
			named++
			command := m[1] + m[2] + m[3]
			if wrong := misnamed(root, command); wrong != "" {
				t.Errorf("%s: %q: there is no %s", path, "sluice "+command, wrong)
			}
		}
	}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "testdata", "bin", "dist"}, d.Name()):
			return fs.SkipDir
		case !d.Type().IsRegular() || strings.HasSuffix(path, "_test.go") || d.Name() == "TRACKRECORD.md": // what was wrong once
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil && len(text) < 1<<20 {
			check(path, string(text))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	var examples func(c *cobra.Command)
	examples = func(c *cobra.Command) {
		for line := range strings.SplitSeq(c.Example, "\n") {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "sluice ") {
				check(c.CommandPath(), "$ "+line)
			}
		}
		for _, sub := range c.Commands() {
			examples(sub)
		}
	}
	examples(root)
	if named < 200 {
		t.Errorf("only %d commands are named", named)
	}
}
