package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
)

// external is a verb that is a separate program.
type external struct {
	verb, program string
	pack          string // the package that contains the program
	short         string
	hidden        bool // left out of the list of verbs
}

// externals are the verbs that are separate programs, so that sluice itself starts
// without the code linked into them.
var externals = []external{
	{"top", "sluice-top", "sluice", "Jobs, nodes and lanes of time on a terminal, with orders", false},
	{"web", "sluice-web", "sluice", "Show the cluster and your jobs in a browser, with orders", false},
	{"simulate", "sluice-simulate", "sluice-simulate", "Try policies on recorded or generated jobs, in virtual time", false},
	{"whatif", "sluice-simulate", "sluice-simulate", "Replay this cluster's own history: what would sluice have changed?", false},
	{"bench-policy", "sluice-simulate", "sluice-simulate", "Measure the policies, and compare them with published results", true},
	{"lab", "sluice-lab", "sluice-lab", "A real Slurm on this machine, for trials", false},
	{"plot", "sluice-plot", "sluice", "Draw a profile, read as JSON from standard input", true},
}

// verbForm is the syntax of the part after "sluice-" in a program's name.
var verbForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`) })

// newExternalCommands returns the commands that are separate programs: those above, and
// the one that args begin with, if sluice-VERB is in sluice's own folders.
func newExternalCommands(args []string) []*cobra.Command {
	var all []*cobra.Command
	for _, a := range externals {
		all = append(all, newExternalCommand(a))
	}
	known := func(a external) bool { return a.verb == args[0] }
	if len(args) > 0 && verbForm().MatchString(args[0]) && !slices.ContainsFunc(externals, known) && companion("sluice-"+args[0]) != "" {
		all = append(all, newExternalCommand(external{verb: args[0], program: "sluice-" + args[0], pack: "sluice", short: "sluice-" + args[0], hidden: true}))
	}
	return all
}

// newExternalCommand returns "sluice VERB" of a program. Options and help are the
// program's.
func newExternalCommand(a external) *cobra.Command {
	c := &cobra.Command{
		Use:                a.verb + " [OPTION]...",
		Short:              a.short,
		Long:               fmt.Sprintf("%s.\n\nIt is a separate program, %s, in the package %s.", a.short, a.program, a.pack),
		Hidden:             a.hidden,
		DisableFlagParsing: true,
		RunE:               func(_ *cobra.Command, args []string) error { return a.start(args) },
	}
	c.SetHelpFunc(func(c *cobra.Command, args []string) { // "sluice help VERB"
		if a.start([]string{"--help"}) != nil { // it is not installed
			c.Root().HelpFunc()(c, args)
		}
	})
	return c
}

// start replaces this process by the program.
func (a external) start(args []string) error {
	path := companion(a.program)
	if path == "" {
		return fmt.Errorf("sluice %s: its program, %s, is not installed; type 'apt install %s', or 'make build' in a source tree", a.verb, a.program, a.pack)
	}
	return become(path, a.verb, args)
}

// completeExternal makes a program complete the words of its own verb: "sluice __complete
// VERB WORD...".
func completeExternal(args []string) error {
	if len(args) < 3 || !strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return nil
	}
	for _, a := range externals {
		if a.verb == args[1] && a.program != "sluice-plot" && companion(a.program) != "" { // sluice-plot completes nothing
			return a.start(append([]string{args[0]}, args[2:]...))
		}
	}
	return nil
}

// become replaces this process by a program, whose argv[0] names the requested verb. It
// returns only if that fails.
func become(path, verb string, args []string) error {
	err := syscall.Exec(path, append([]string{"sluice-" + verb}, args...), os.Environ())
	return fmt.Errorf("%s cannot be started: %w", path, err)
}

// companion returns the path of another of sluice's programs: in ../libexec/sluice in an
// installation, or in the folder of this program, as in bin/ of a source tree; "" if it
// is in neither. It is never searched in PATH or the working directory, where another
// user may have put one.
func companion(name string) string {
	if name == "" || strings.ContainsAny(name, "/\x00") {
		return ""
	}
	self, err := os.Executable() // the target of /proc/self/exe: links made by a user have no effect
	if err != nil {
		return ""
	}
	return companionOf(filepath.Dir(self), name)
}

// companionOf is companion for a program in a folder.
func companionOf(dir, name string) string {
	for _, path := range []string{filepath.Join(filepath.Dir(dir), "libexec", "sluice", name), filepath.Join(dir, name)} {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}
