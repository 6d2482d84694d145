package main

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/checkpoint/ranks"
)

// newRanksCommand returns "sluice ranks", which starts a job's training
// processes.
func newRanksCommand() *cobra.Command {
	var c ranks.Config
	cmd := &cobra.Command{
		Use:   "ranks [--per-node N] [--wait TIME] [--torchrun] -- COMMAND [ARGS...]",
		Short: "Start one training process for each GPU of the job",
		Long: `Started once on every node, sluice ranks starts one process for each GPU that the
job really has there and tells each who it is: RANK, LOCAL_RANK, WORLD_SIZE,
LOCAL_WORLD_SIZE, NODE_RANK, MASTER_ADDR, MASTER_PORT. Nodes may have different
numbers of GPUs. In a job on several nodes it puts itself under srun.

When one process fails, the others are ended, on all nodes, and its exit code is
the command's.

With --torchrun it starts one torchrun on each node instead, of the Python that the
command names (python3 when it begins with the script), told how many GPUs that node
has and where this run's nodes meet. Signals torchrun would die of are kept from it
and passed on to the processes that listen for them; a failed run is not tried again
by torchrun itself.`,
		Example: `  srun "$SLUICE" ranks -- python3 train.py
  srun "$SLUICE" ranks --torchrun -- train.py --epochs 3
  "$SLUICE" ranks --per-node 2 -- python3 train.py`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if c.PerNode < 0 {
				return errors.New("--per-node: at least 1")
			}
			if ranks.NeedsSrun(os.Environ()) {
				return underSrun(c, args)
			}
			c.Argv, c.Env = args, os.Environ()
			c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
			c.Host, _ = os.Hostname() // only shown to people
			c.Gauge = beside("sluice-nvml")
			return exitAs(ranks.Run(c))
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows the command is the command's
	cmd.Flags().IntVar(&c.PerNode, "per-node", 0, "processes on each node (default: one for each GPU)")
	cmd.Flags().BoolVar(&c.Torchrun, "torchrun", false, "start one torchrun on each node, which starts the processes")
	cmd.Flags().DurationVar(&c.Wait, "wait", 2*time.Minute, "how long to wait for the other nodes")
	return cmd
}

// underSrun replaces this process by srun, which starts it again on every node.
func underSrun(c ranks.Config, args []string) error {
	srun, err := exec.LookPath("srun")
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	argv := srunCommand(self, os.Getenv("SLURM_NNODES"), c, args) // NeedsSrun read it
	return syscall.Exec(srun, argv, os.Environ())
}

// srunCommand is the srun that starts "sluice ranks", as it was called, once on every
// node.
func srunCommand(self, nodes string, c ranks.Config, args []string) []string {
	return append([]string{"srun", "--nodes=" + nodes, "--ntasks=" + nodes, self, "ranks",
		"--per-node=" + strconv.Itoa(c.PerNode), "--wait=" + c.Wait.String(), "--torchrun=" + strconv.FormatBool(c.Torchrun), "--"}, args...)
}
