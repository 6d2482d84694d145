package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/help"
)

// Run runs one command of a tree and returns the exit code: 0, 1 as in Slurm's tools, or
// the code of an ExitCode error.
func Run(c *cobra.Command, args []string, out, errs io.Writer) int {
	c.SetArgs(args)
	c.SetOut(out)
	c.SetErr(errs)
	err := c.ExecuteContext(context.Background())
	var code ExitCode
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	}
	Complain(errs, err)
	return 1
}

// ExitCode ends sluice with this code and without a message.
type ExitCode int

// Error returns the code as text.
func (c ExitCode) Error() string { return "exit code " + strconv.Itoa(int(c)) }

// Complain prints an error as Slurm's tools do; of joined errors each has a line. Errors
// contain other users' text, which is escaped here.
func Complain(errs io.Writer, err error) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if line = strings.TrimSpace(strings.ReplaceAll(line, "\t", " ")); line != "" {
			fmt.Fprintln(errs, "sluice: error:", Escape(line))
		}
	}
}

// Warn prints a warning; the command goes on.
func Warn(errs io.Writer, text string) { fmt.Fprintln(errs, "sluice: warning:", Escape(text)) }

// Root makes the command the root of sluice's command tree, in any of its programs:
// version, options, and the form of errors.
func Root(c *cobra.Command, version string) {
	c.SilenceErrors, c.SilenceUsage = true, true
	// Not c.Version: cobra prints that by text/template, with which the linker must keep
	// every method of every type, a sixth of the program.
	show := c.Flags().BoolP("version", "v", false, "version for sluice")
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(c *cobra.Command, args []string) error {
		if *show {
			_, err := fmt.Fprintln(c.OutOrStdout(), "sluice", version)
			return err
		}
		return OnlyVerbs(c, args)
	}
	c.SetFlagErrorFunc(UnknownFlag)
	help.Narrow(c)
	f := c.PersistentFlags()
	f.String("config", "", "configuration file (default: SLUICE_CONF, then the usual places)")
	f.Bool("user", false, "use your own sluiced --user rather than the cluster's")
}

// Tree is the part of sluice's command tree that is in one of its programs: the root, with its options, and
// some verbs.
func Tree(version string, verbs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: "sluice", Short: "Elastic GPU jobs on Slurm"}
	Root(c, version)
	c.AddCommand(verbs...)
	return c
}

// Main runs a program that is a verb of sluice, and ends it with the exit code.
func Main(tree *cobra.Command, verb string) {
	os.Exit(Run(tree, Typed(os.Args, verb), os.Stdout, os.Stderr))
}

// Typed is a program's command line as typed after "sluice": sluice removes the verb when
// it starts the program.
func Typed(args []string, verb string) []string {
	if len(args) > 1 && strings.HasPrefix(args[1], cobra.ShellCompRequestCmd) { // sluice __complete VERB ...
		return append([]string{args[1], verb}, args[2:]...)
	}
	return append([]string{verb}, args[1:]...)
}
