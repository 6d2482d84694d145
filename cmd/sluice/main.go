// Command sluice is what users type: it submits elastic jobs, shows them and
// gives orders about them; inside a job it runs the user's script.
package main

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

// version is set when sluice is built.
var version = "unknown"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run runs one command and returns the exit code: 0, 1 as Slurm's tools, or what
// the command asks for with an exitCode.
func run(args []string, out, errs io.Writer) int {
	c := newCommand(args)
	c.SetArgs(args)
	c.SetOut(out)
	c.SetErr(errs)
	err := c.ExecuteContext(context.Background())
	var code exitCode
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	}
	complain(errs, err)
	return 1
}

// exitCode ends sluice with this code and without a further word.
type exitCode int

// Error names the code.
func (c exitCode) Error() string { return "exit code " + strconv.Itoa(int(c)) }

// complain prints an error as Slurm's tools do; of several joined ones each has
// a line. Errors carry other people's words: they are escaped here, once for all.
func complain(errs io.Writer, err error) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if line = strings.TrimSpace(strings.ReplaceAll(line, "\t", " ")); line != "" {
			fmt.Fprintln(errs, "sluice: error:", escape(line))
		}
	}
}

// warn prints something the user should know although the command goes on.
func warn(errs io.Writer, text string) { fmt.Fprintln(errs, "sluice: warning:", escape(text)) }

// verbs are sluice's commands, one file each, in the order of a user's day.
var verbs = []struct {
	name string
	make func() *cobra.Command
}{
	{"submit", newSubmitCommand},
	{"queue", newQueueCommand},
	{"status", newStatusCommand},
	{"show", newShowCommand},
	{"explain", newExplainCommand},
	{"history", newHistoryCommand},
	{"logs", newLogsCommand},
	{"plan", newPlanCommand},
	{"nodes", newNodesCommand},
	{"cancel", newCancelCommand},
	{"hold", newHoldCommand},
	{"release", newReleaseCommand},
	{"resize", newResizeCommand},
	{"checkpoint", newCheckpointCommand},
	{"requeue", newRequeueCommand},
	{"profile", newProfileCommand},
	{"speed", newSpeedCommand},
	{"run", newRunCommand},
	{"ranks", newRanksCommand},
	{"event", newEventCommand},
	{"simulate", newSimulateCommand},
	{"whatif", newWhatifCommand},
	{"doctor", newDoctorCommand},
	{"version", newVersionCommand},
	{"lab", newLabCommand},
	{"bench-policy", newBenchPolicyCommand},
}

// newCommand returns the tree of commands. When args begin with a verb the tree
// has only that branch: submit and run start as often as sbatch and jobs do.
func newCommand(args []string) *cobra.Command {
	c := &cobra.Command{
		Use:   "sluice",
		Short: "Elastic GPU jobs on Slurm",
		Long: `sluice submits training jobs to Slurm without a fixed number of GPUs. A job starts
with its minimum as soon as there is one, grows onto idle GPUs, shrinks when
others arrive, and keeps its job id: squeue, scancel and sacct work as ever.`,
		Example: `  sluice submit --max-gpus=8 --epochs=90 train.sh
  sluice queue
  sluice explain 4711`,
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE:          onlyVerbs,
	}
	c.SetFlagErrorFunc(unknownFlag)
	help.Narrow(c)
	c.SetVersionTemplate("sluice {{.Version}}\n")
	f := c.PersistentFlags()
	f.String("config", "", "configuration file (default: SLUICE_CONF, then the usual places)")
	f.Bool("user", false, "work with your own sluiced --user rather than the cluster's")
	for _, v := range verbs {
		if len(args) > 0 && args[0] == v.name {
			c.AddCommand(v.make())
			return c
		}
	}
	for _, v := range verbs {
		c.AddCommand(v.make())
	}
	return c
}
