// Command sluice-simulate is the simulators of sluice: "sluice simulate", "sluice whatif"
// and "sluice bench-policy". sluice starts it under the name of the verb. It is a
// separate program because policies and solvers are twice the size of the whole client.
package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// version is set when the program is built.
var version = "unknown"

func main() { terminal.Main(newCommand(), verbOf(os.Args[0])) }

// verbOf is the verb for which the program was started: "sluice-whatif" means whatif, any
// other name means simulate.
func verbOf(name string) string {
	switch verb := strings.TrimPrefix(filepath.Base(name), "sluice-"); verb {
	case "whatif", "bench-policy":
		return verb
	}
	return "simulate"
}

func newCommand() *cobra.Command {
	return terminal.Tree(version, addCompletion(newSimulateCommand()), addCompletion(newWhatifCommand()), newBenchPolicyCommand())
}
