package terminal

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/sbatch"
)

// UnknownFlag says which option was meant.
func UnknownFlag(c *cobra.Command, err error) error {
	var unknown interface{ GetSpecifiedName() string }
	if !errors.As(err, &unknown) {
		return err
	}
	if near := sbatch.Nearest(unknown.GetSpecifiedName(), FlagNames(c)); near != "" {
		return fmt.Errorf("%w; did you mean --%s?", err, near)
	}
	return fmt.Errorf("%w; see '%s --help'", err, c.CommandPath())
}

// flagLine is the beginning of a line of cobra's list of options.
var flagLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^ +(?:-., )?--([A-Za-z0-9-]+)`) })

func FlagNames(c *cobra.Command) []string {
	var names []string
	for _, found := range flagLine().FindAllStringSubmatch(c.Flags().FlagUsages(), -1) {
		names = append(names, found[1])
	}
	return names
}

// OnlyVerbs runs a command that has nothing to do but its verbs: it prints the help, or
// says which verb was meant.
func OnlyVerbs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	do := fmt.Sprintf("see '%s --help'", c.CommandPath())
	near := sbatch.Nearest(args[0], names)
	for _, name := range names { // "hist" is history
		if near == "" && len(args[0]) > 2 && strings.HasPrefix(name, args[0]) {
			near = name
		}
	}
	if near != "" {
		do = fmt.Sprintf("did you mean '%s %s'?", c.CommandPath(), near)
	}
	return fmt.Errorf("unknown command %q; %s", args[0], do)
}
