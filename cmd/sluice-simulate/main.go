// Command sluice-simulate is the simulators of sluice: "sluice simulate", "sluice whatif"
// and "sluice bench-policy". sluice starts it under the name of the verb. It is a
// separate program because policies and solvers are twice the size of the whole client.
package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// version is set when the program is built.
var version = "unknown"

func main() { os.Exit(run(terminal.Typed(os.Args, verbOf(os.Args[0])), os.Stdout, os.Stderr)) }

// run runs one command, its verb first, and returns the exit code.
func run(args []string, out, errs io.Writer) int {
	return terminal.Run(newCommand(), args, out, errs)
}

// verbOf is the verb for which the program was started: "sluice-whatif" means whatif, any
// other name means simulate.
func verbOf(name string) string {
	switch verb := strings.TrimPrefix(filepath.Base(name), "sluice-"); verb {
	case "whatif", "bench-policy":
		return verb
	}
	return "simulate"
}

// newCommand returns the part of sluice's command tree that is in this program.
func newCommand() *cobra.Command {
	c := &cobra.Command{Use: "sluice", Short: "Elastic GPU jobs on Slurm"}
	terminal.Root(c, version)
	c.AddCommand(addCompletion(newSimulateCommand()), addCompletion(newWhatifCommand()), newBenchPolicyCommand())
	return c
}
