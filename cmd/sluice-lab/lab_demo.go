package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/site/bench"
	"github.com/sluice-hpc/sluice/cmd/site/demo"
	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// newLabDemoCommand returns `sluice lab demo`: a demonstration of sluice's main function.
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
			ctx, stop := terminal.Interruptible(cmd.Context())
			defer stop()
			return demo.Run(ctx, o)
		},
	}
	c.Flags().BoolVar(&o.Keep, "keep", false, "keep the lab and its files afterwards")
	c.Flags().StringVar(&o.Dir, "dir", "", "where to build the lab (default: a new directory in /tmp)")
	return c
}

// newLabBenchCommand returns `sluice lab bench`: figures on standard output, messages on
// standard error.
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
			ctx, stop := terminal.Interruptible(cmd.Context())
			defer stop()
			return bench.Run(ctx, o)
		},
	}
	c.Flags().StringVar(&o.Root, "root", "", "root of another tree whose Slurm to measure, as debootstrap makes it")
	c.Flags().IntVar(&o.Resizes, "resizes", 20, "dead times to measure")
	c.Flags().StringSliceVar(&o.Only, "only", nil, "measure these alone: "+strings.Join(bench.Names(), ", "))
	return c
}

// ownFolder is the directory of sluice and sluiced: that of this program in a source
// tree's bin/, or ../../bin in an installation, where this program is in libexec/sluice.
func ownFolder() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	dir := filepath.Dir(self)
	if libexec := filepath.Dir(dir); filepath.Base(libexec) == "libexec" {
		return filepath.Join(filepath.Dir(libexec), "bin"), nil
	}
	return dir, nil
}
