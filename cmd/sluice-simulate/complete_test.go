package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// openValues are the options that take a text of the user's own.
var openValues = []string{"cluster", "profiles", "sacct", "shares", "gpu-cost", "out", "events", "jobs", "partition", "data", "submit"}

// TestClosedSetsAreCompleted: an option that takes a text is completed, or open.
func TestClosedSetsAreCompleted(t *testing.T) {
	for _, c := range newCommand().Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			_, has := c.GetFlagCompletionFunc(f.Name)
			if strings.HasPrefix(f.Value.Type(), "string") && !has && !slices.Contains(openValues, f.Name) {
				t.Errorf("%s --%s takes a text that is neither completed nor open", c.Name(), f.Name)
			}
		})
	}
	var out, errs strings.Builder
	if code := terminal.Run(newCommand(), []string{"__completeNoDesc", "simulate", "--policy", "look"}, &out, &errs); code != 0 || !strings.HasPrefix(out.String(), "lookahead\n") || !strings.HasSuffix(out.String(), "\n:4\n") {
		t.Errorf("exit code %d, %q", code, out.String())
	}
}
