// Command sluice-vaultd keeps data sets that users can train on and not take away. It runs as the service
// account that owns the data sets, never as root, and submits the jobs that use them; what leaves with a job is
// counted against the budgets of its data sets before it leaves.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/help"
	"github.com/sluice-hpc/sluice/elastic/control/local"
	"github.com/sluice-hpc/sluice/etc"
	"github.com/sluice-hpc/sluice/slurm/command"
)

// version is set by the build.
var version = "unknown"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "sluice-vaultd: error:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	config := ""
	c := &cobra.Command{
		Use:     "sluice-vaultd",
		Version: version,
		Short:   "Keep data sets that users can train on and not take away",
		Long: `sluice-vaultd answers 'sluice data', 'sluice results' and the submission of
jobs with --data. It runs as the service account of data sets ([data] account
in sluice.toml), which owns their folders and submits the jobs that use them.
Without it such jobs run on; nothing of them leaves until it runs again.`,
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), config)
		},
	}
	c.Flags().StringVar(&config, "config", "", "configuration file (default: SLUICE_CONF, then /etc/sluice/sluice.toml)")
	help.Narrow(c)
	return c
}

// run serves until ctx ends or the record cannot be written any more.
func run(ctx context.Context, config string) error {
	site, config, err := load(config)
	if err != nil {
		return err
	}
	if err := allowed(site.Data, os.Geteuid()); err != nil {
		return err
	}
	s, err := newService(site, config)
	if err != nil {
		return err
	}
	defer s.vault.close()
	socket, err := local.Listen(ctx, local.Place{Path: site.Data.Socket, Key: "[data] socket"})
	if err != nil {
		return err
	}
	s.log.Info().Str("event", "starts").Str("config", config).Int("uid", os.Geteuid()).Int("jobs", len(s.vault.state.Jobs())).Msg("sluice-vaultd starts")
	return newServer(s).serve(ctx, socket)
}

// load reads the configuration, and returns the absolute path of its file.
func load(config string) (etc.Config, string, error) {
	if config == "" {
		if config = etc.Find(false); config == "" {
			return etc.Config{}, "", fmt.Errorf("there is no configuration: set [data] account in %s", etc.SystemFile())
		}
	}
	config, err := filepath.Abs(config)
	if err != nil {
		return etc.Config{}, "", err
	}
	site, err := etc.Load(config)
	return site, config, err
}

// allowed reports why this account may not keep the data sets.
func allowed(d etc.Data, euid int) error {
	if euid == 0 {
		return errors.New("refusing to run as root: a program that reads what users send should not; run it as the account of [data] in sluice.toml (see sluice-vaultd.service)")
	}
	uid, err := d.UID()
	if err != nil {
		return err
	}
	if int(uid) != euid {
		return fmt.Errorf("refusing to run as uid %d: [data] account in sluice.toml is %s; run it as that account (see sluice-vaultd.service)", euid, d.Account)
	}
	return nil
}

// newService opens the vault.
func newService(site etc.Config, config string) (*service, error) {
	client, err := command.New(command.Config{Dir: site.Slurm.Bin, Conf: site.Slurm.Conf, Timeout: site.Slurm.Timeout, Now: time.Now})
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if err := apart(site.Data); err != nil {
		return nil, err
	}
	v, err := openVault(site.Data.Root, time.Now)
	if err != nil {
		return nil, err
	}
	s := &service{vault: v, site: site, config: config, uid: uint32(os.Geteuid()), slurm: client, sluice: filepath.Join(filepath.Dir(self), "sluice"),
		accounts: system{}, books: newBooks(), log: zerolog.New(os.Stderr).With().Timestamp().Logger()}
	s.submissions, s.tasks = newPace(20, 10*time.Second), newPace(1000, time.Second)
	s.denials = newPace(5, time.Minute)
	return s, s.tidy()
}
