package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/help"
)

// TestHelpFits: no line of any command's help is wider than a terminal of 80 columns.
func TestHelpFits(t *testing.T) {
	count := 0
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		var out strings.Builder
		c.SetOut(&out)
		c.InitDefaultHelpFlag()
		if err := c.Help(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(out.String(), "\n") {
			if utf8.RuneCountInString(line) > help.Columns {
				t.Errorf("%s: %d columns: %s", c.CommandPath(), utf8.RuneCountInString(line), line)
			}
		}
		count++
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newCommand(nil))
	if count < 25 {
		t.Errorf("only %d commands", count)
	}
}
