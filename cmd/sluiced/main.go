// Command sluiced decides how many GPUs every sluice job gets, continuously. It runs for
// a whole cluster as a Slurm operator, or with --user for one user's own jobs without
// privileges.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/help"
	"github.com/sluice-hpc/sluice/etc"
)

// version is set by the build.
var version = "unknown"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "sluiced: error:", err)
		os.Exit(1)
	}
}

// options are the command line of sluiced.
type options struct {
	config string
	user   bool
	lab    bool
}

func newCommand() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:     "sluiced",
		Version: version,
		Short:   "Decide continuously how many GPUs every sluice job gets",
		Long: `sluiced watches Slurm, grows elastic jobs onto idle GPUs, shrinks them when
others arrive, and moves a job from one size to the next by checkpoint and
requeue under the same job id. Losing it leaves every job running at its size.`,
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := refuseRoot(o, os.Geteuid()); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	c.PersistentFlags().StringVar(&o.config, "config", "", "configuration file (default: SLUICE_CONF, then the usual places)")
	c.PersistentFlags().BoolVar(&o.user, "user", false, "manage your own jobs only, without privileges, with all files under ~/.sluice")
	c.Flags().BoolVar(&o.lab, "lab", false, "allow running as root, for a lab on loopback only")
	c.AddCommand(newCheckCommand(&o))
	help.Narrow(c)
	return c
}

// errRoot is why sluiced does not start as root.
var errRoot = errors.New("refusing to run as root: a daemon that reads users' files should not; " +
	"run it as an account that is a Slurm operator (see sluiced.service), as yourself with --user, or with --lab on a lab")

func refuseRoot(o options, euid int) error {
	if euid == 0 && !o.lab {
		return errRoot
	}
	return nil
}

func newCheckCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Read the configuration, report every error, print the resulting settings",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, from, err := o.load()
			if err != nil {
				return err
			}
			if from == "" {
				from = "built-in defaults"
			}
			fmt.Fprintf(cmd.OutOrStdout(), "# from %s\n%s", from, c)
			return nil
		},
	}
}

// load reads the configuration named by the options and returns where it came from.
func (o options) load() (etc.Config, string, error) {
	if o.config == "" {
		return etc.Current(o.user)
	}
	base := etc.Default()
	if o.user {
		home, err := os.UserHomeDir()
		if err != nil {
			return etc.Config{}, "", fmt.Errorf("your home directory is not known: %w; set HOME", err)
		}
		base = etc.UserDefaults(home)
	}
	c, err := etc.LoadOver(base, o.config)
	return c, o.config, err
}
