package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluice-hpc/sluice/cmd/help"
)

// TestHelpFits: no line of the help is wider than a terminal of 80 columns.
func TestHelpFits(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"check", "--help"}} {
		var out strings.Builder
		c := newCommand()
		c.SetArgs(args)
		c.SetOut(&out)
		if err := c.Execute(); err != nil || out.Len() == 0 {
			t.Fatalf("%v: %q", err, out.String())
		}
		for line := range strings.SplitSeq(out.String(), "\n") {
			if utf8.RuneCountInString(line) > help.Columns {
				t.Errorf("%q is %d columns wide: %s", args, utf8.RuneCountInString(line), line)
			}
		}
	}
}
