package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/site/bench"
	"github.com/sluice-hpc/sluice/cmd/site/demo"
)

// newLabDemoCommand makes `sluice lab demo`: the main job of sluice, shown.
func newLabDemoCommand() *cobra.Command {
	var o demo.Options
	c := &cobra.Command{
		Use:   "demo",
		Short: "Show six training jobs grow, shrink and finish on a lab of their own",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			bin, err := ownFolder()
			if err != nil {
				return err
			}
			o.Bin, o.Out = bin, cmd.OutOrStdout()
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			return demo.Run(ctx, o)
		},
	}
	c.Flags().BoolVar(&o.Keep, "keep", false, "leave the lab and its files for a look afterwards")
	c.Flags().StringVar(&o.Dir, "dir", "", "where to build the lab (default: a new directory in /tmp)")
	return c
}

// newLabBenchCommand makes `sluice lab bench`: figures on standard output, what
// is going on on standard error.
func newLabBenchCommand() *cobra.Command {
	var o bench.Options
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure sluice against bare Slurm on a lab of its own",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			bin, err := ownFolder()
			if err != nil {
				return err
			}
			o.Bin, o.Figures, o.Story = bin, cmd.OutOrStdout(), cmd.ErrOrStderr()
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			return bench.Run(ctx, o)
		},
	}
	c.Flags().StringVar(&o.Root, "root", "", "root of another tree whose Slurm to measure, as debootstrap makes it")
	c.Flags().IntVar(&o.Resizes, "resizes", 20, "dead times to measure")
	c.Flags().BoolVar(&o.OnlyResizes, "only-resizes", false, "measure resizes and nothing else")
	return c
}

// ownFolder is the directory of the running sluice; sluiced lies beside it.
func ownFolder() (string, error) {
	self, err := os.Executable()
	return filepath.Dir(self), err
}
