package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/site/bench"
	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// newLabLiveCommand returns `sluice lab live`: predictions of the simulator, compared
// with a real Slurm. Figures go to standard output, messages to standard error.
func newLabLiveCommand() *cobra.Command {
	var o bench.LiveOptions
	var policies string
	c := &cobra.Command{
		Use:   "live",
		Short: "Run the same jobs under several policies on a lab, beside the simulator's predictions",
		Long: `Runs the jobs of a generated workload on a real Slurm with a real sluiced, under
one policy after the other, and prints each mean completion time beside the one
the simulator predicted beforehand from what a move costs on this machine. Minutes
of the workload are seconds here, and GPU work is emulated by sleeping. About five
minutes a policy.`,
		Example: "  sluice lab live --policy knapsack,lookahead --workload w1@15m --seed 3",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			bin, err := ownFolder()
			if err != nil {
				return err
			}
			o.Bin, o.Figures, o.Story = bin, cmd.OutOrStdout(), cmd.ErrOrStderr()
			if policies != "" {
				o.Policies = strings.Split(policies, ",")
			}
			ctx, stop := terminal.Interruptible(cmd.Context())
			defer stop()
			return bench.Live(ctx, o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Root, "root", "", "root of another tree whose Slurm to use, as debootstrap makes it")
	f.StringVar(&o.Workload, "workload", "w2@10m", "generated workload and mean time between two jobs")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of the workload, from 1 on")
	f.IntVar(&o.Jobs, "jobs", 20, "number of jobs")
	f.Float64Var(&o.Faster, "faster", 60, "how many times faster than the workload says; 60 makes minutes seconds")
	f.StringVar(&policies, "policy", "", "policies to run, with commas (default fcfs,ef,knapsack,lookahead)")
	f.IntVar(&o.Rounds, "rounds", 5, "resizes of each of four jobs that measure what a move costs")
	return c
}
