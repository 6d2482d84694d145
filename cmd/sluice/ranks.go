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
	var word string
	cmd := &cobra.Command{
		Use:   "ranks [--per-node N] [--wait TIME] [--torchrun] -- COMMAND [ARGS...] [--and NAME=COUNT COMMAND [ARGS...]]...",
		Short: "Start one training process for each GPU of the job",
		Long: `Started once on every node, sluice ranks starts one process for each GPU that the
job really has there and sets its variables: RANK, LOCAL_RANK, WORLD_SIZE,
LOCAL_WORLD_SIZE, NODE_RANK, MASTER_ADDR, MASTER_PORT. Nodes may have different
numbers of GPUs. In a job on several nodes it runs itself under srun.

When one process fails, the others are ended, on all nodes, and its exit code is
the command's.

With --torchrun it starts one torchrun on each node instead, with the Python that the
command names (python3 when it begins with the script), the node's number of GPUs and
the address at which this run's nodes meet. Signals that would end torchrun are not
delivered to it, but to the processes that handle them; torchrun itself does not retry
a failed run.

--and NAME=COUNT begins the command of another kind of task: parameter servers, actors,
data loaders. COUNT is 2 (in the whole job, at every size, spread over the nodes),
1/node or 2/gpu. All kinds start together or not at all: nothing is started before
every node has found the commands that it is to start. When the workers, the first
kind, have exited 0 on all nodes, the others get SIGTERM and some seconds later
SIGKILL; one that fails before that ends all, and one that exits 0 is done.

Every task then has SLUICE_TASK (its kind; worker is the first), SLUICE_TASK_ID
(from 0 in its kind), SLUICE_TASK_COUNT, and SLUICE_GANG, the path of a JSON file:
{"kinds": {"ps": [{"id": 0, "node": "gpu1", "address": "10.0.0.1", "port": 12345}, ...],
"worker": [...], ...}}, with a TCP port for each task that was free on its node. RANK
and similar variables, and the GPUs, are for the workers only. Saving and reporting are
the workers' task as well. When the job is resized all are started again, with the new
counts. If a command has an argument --and of its own, choose another word with --and-word.`,
		Example: `  srun "$SLUICE" ranks -- python3 train.py
  srun "$SLUICE" ranks --torchrun -- train.py --epochs 3
  "$SLUICE" ranks --per-node 2 -- python3 train.py
  srun "$SLUICE" ranks -- python3 train.py \
      --and ps=2 python3 ps.py --and loader=1/node ./loader`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if c.PerNode < 0 {
				return errors.New("--per-node: at least 1")
			}
			var err error
			if c.Argv, c.And, err = ranks.Kinds(args, word); err != nil {
				return err
			}
			if c.Torchrun && len(c.And) > 0 {
				return errors.New("--torchrun: not with " + word + ": torchrun numbers its processes by itself; leave --torchrun out, the workers get RANK and similar variables without it")
			}
			if ranks.NeedsSrun(os.Environ()) {
				return underSrun(c, word, args)
			}
			c.Env = os.Environ()
			c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
			c.Host, _ = os.Hostname() // only shown to users
			c.Gauge = companion("sluice-nvml")
			return exitAs(ranks.Run(c))
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows the command is the command's
	cmd.Flags().IntVar(&c.PerNode, "per-node", 0, "processes on each node (default: one for each GPU)")
	cmd.Flags().BoolVar(&c.Torchrun, "torchrun", false, "start one torchrun on each node, which starts the processes")
	cmd.Flags().StringVar(&word, "and-word", ranks.AndWord, "separator before the command of another kind of task")
	cmd.Flags().DurationVar(&c.Wait, "wait", 2*time.Minute, "how long to wait for the other nodes")
	return cmd
}

// underSrun replaces this process by srun, which starts it again on every node.
func underSrun(c ranks.Config, word string, args []string) error {
	srun, err := exec.LookPath("srun")
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	argv := srunCommand(self, os.Getenv("SLURM_NNODES"), c, word, args) // NeedsSrun read it
	return syscall.Exec(srun, argv, os.Environ())
}

// srunCommand is the srun command that starts "sluice ranks", with the same arguments,
// once on every node.
func srunCommand(self, nodes string, c ranks.Config, word string, args []string) []string {
	return append([]string{"srun", "--nodes=" + nodes, "--ntasks=" + nodes, self, "ranks",
		"--per-node=" + strconv.Itoa(c.PerNode), "--wait=" + c.Wait.String(), "--torchrun=" + strconv.FormatBool(c.Torchrun), "--and-word=" + word, "--"}, args...)
}
