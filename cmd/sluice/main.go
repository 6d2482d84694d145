// Command sluice is the program for users: it submits elastic jobs, shows them and sends
// orders for them; inside a job it runs the user's script.
package main

import (
	"io"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/checkpoint/runner"
	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// version is set when sluice is built.
var version = "unknown"

func main() {
	if code, is := runner.Part(os.Args, time.Now); is { // of a confined job
		os.Exit(code)
	}
	if len(os.Args) > 1 && !slices.Contains(lasting, os.Args[1]) {
		collectLate()
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// lasting are the verbs that run on the nodes for as long as a job.
var lasting = []string{"run", "ranks", "lane"}

// collectLate delays the first garbage collection until 16 MiB are in use (Go's 4 MiB
// times 4), which most commands never reach. Without it half the time of sluice queue with
// 1,000 jobs was garbage collection. The limit prevents that long answers use many times
// their size.
func collectLate() {
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(256 << 20)
}

// run runs one command and returns the exit code.
func run(args []string, out, errs io.Writer) int {
	if err := completeExternal(args); err != nil {
		terminal.Complain(errs, err)
		return 1
	}
	return terminal.Run(newCommand(args), args, out, errs)
}

// verbs are sluice's commands, one per file, in the order of typical use.
var verbs = []struct {
	name string
	make func() *cobra.Command
}{
	{"submit", newSubmitCommand},
	{"init", newInitCommand},
	{"queue", newQueueCommand},
	{"status", newStatusCommand},
	{"show", newShowCommand},
	{"explain", newExplainCommand},
	{"history", newHistoryCommand},
	{"report", newReportCommand},
	{"logs", newLogsCommand},
	{"plan", newPlanCommand},
	{"nodes", newNodesCommand},
	{"shares", newSharesCommand},
	{"cancel", newCancelCommand},
	{"hold", newHoldCommand},
	{"release", newReleaseCommand},
	{"resize", newResizeCommand},
	{"deadline", newDeadlineCommand},
	{"checkpoint", newCheckpointCommand},
	{"requeue", newRequeueCommand},
	{"sweep", newSweepCommand},
	{"data", newDataCommand},
	{"results", newResultsCommand},
	{"profile", newProfileCommand},
	{"speed", newSpeedCommand},
	{"run", newRunCommand},
	{"ranks", newRanksCommand},
	{"lane", newLaneCommand},
	{"event", newEventCommand},
	{"doctor", newDoctorCommand},
	{"version", newVersionCommand},
}

// newCommand returns the command tree. If args begin with a verb the tree has only that
// branch: submit and run start as often as sbatch and jobs do.
func newCommand(args []string) *cobra.Command {
	c := &cobra.Command{
		Use:   "sluice",
		Short: "Elastic GPU jobs on Slurm",
		Long: `sluice submits training jobs to Slurm without a fixed number of GPUs. A job starts
with its minimum as soon as there is one, grows onto idle GPUs, shrinks when
others arrive, and keeps its job id: squeue, scancel and sacct work as usual.`,
		Example: `  sluice submit --max-gpus=8 --epochs=90 train.sh
  sluice queue
  sluice explain 4711`,
	}
	terminal.Root(c, version)
	asBefore := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 && !c.Flags().Changed("version") {
			return greet(c)
		}
		return asBefore(c, args)
	}
	for _, v := range verbs {
		if len(args) > 0 && args[0] == v.name {
			c.AddCommand(v.make())
			return c
		}
	}
	for _, v := range verbs {
		c.AddCommand(v.make())
	}
	addCompletion(c)
	c.AddCommand(newExternalCommands(args)...)
	return c
}
