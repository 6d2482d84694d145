package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/slurm/lab"
)

// newLabCommand returns "sluice lab": a real Slurm on this machine for trials.
func newLabCommand() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "lab",
		Short: "A real Slurm on this machine, for trials",
		Long: `A lab is a real Slurm on loopback: its own munged, slurmctld and several slurmd
with pretended GPUs, everything under one directory, in seconds and without a
trace afterwards. It needs Debian's slurmctld, slurmd, slurm-client and munge
installed, and no configuration. As root, jobs of every account run; as an
ordinary user, your own.`,
		Example: `  sluice lab up --nodes 3 --gpus 4 --gpu-types a100,a100,t4 --daemon
  eval "$(sluice lab env)"
  sluice status
  sluice lab down`,
		Args: cobra.ArbitraryArgs,
		RunE: terminal.OnlyVerbs,
	}
	c.PersistentFlags().StringVar(&dir, "dir", "", "the lab's directory (default: SLUICE_LAB_DIR, else "+lab.DefaultDir()+")")
	c.AddCommand(newLabUpCommand(&dir), newLabEnvCommand(&dir), newLabStatusCommand(&dir), newLabDownCommand(&dir),
		newLabDemoCommand(), newLabBenchCommand(), newLabLiveCommand(), newLabExactCommand(), newLabSoakCommand(), newLabFiguresCommand(), newLabAuditCommand())
	return c
}

func newLabUpCommand(dir *string) *cobra.Command {
	var cfg lab.Config
	var partitions, settings []string
	var daemon bool
	c := &cobra.Command{
		Use:   "up",
		Short: "Start a lab and wait until every node is idle",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// An interrupt must undo what was started.
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			cfg.Dir, cfg.ExtraConf = *dir, strings.Join(settings, "\n")
			var err error
			if cfg.Partitions, err = parsePartitions(partitions); err != nil {
				return err
			}
			if cfg.GPUs == 0 {
				cfg.GPUs = -1 // 0 was requested; in Config zero means the default
			}
			from := time.Now()
			done := terminal.Busy(cmd.ErrOrStderr(), "starting Slurm, until every node is idle")
			l, err := lab.Up(ctx, cfg)
			done()
			if err != nil {
				return err
			}
			printUp(cmd.OutOrStdout(), l, time.Since(from))
			return furnishLab(ctx, cmd.OutOrStdout(), l, daemon)
		},
	}
	f := c.Flags()
	f.IntVar(&cfg.Nodes, "nodes", 3, "number of nodes, 1 to 64")
	f.IntVar(&cfg.GPUs, "gpus", 4, "GPUs of each node, 0 to 64")
	f.StringVar(&cfg.GPUType, "gpu-type", "", "Slurm type of the GPUs (default: none)")
	f.StringSliceVar(&cfg.GPUTypes, "gpu-types", nil, "types of single nodes' GPUs, in order: a100,a100,t4; of several on one: a100:2+t4:2")
	f.BoolVar(&daemon, "daemon", false, "start sluiced on it, too; 'lab down' stops it")
	f.IntVar(&cfg.CPUs, "cpus", 16, "CPUs each node claims to have")
	f.StringVar(&cfg.SlurmUser, "slurm-user", "", "account that runs slurmctld (default: slurm as root, else yourself)")
	f.StringArrayVar(&partitions, "partition", nil, `a partition, NAME or NAME=NODE,NODE; repeat for more (default "gpu" with all nodes)`)
	f.StringArrayVar(&settings, "set", nil, "a line of slurm.conf, KEY=VALUE; replaces the lab's; repeat for more")
	f.BoolVar(&cfg.FastScheduling, "fast-scheduling", false, "let slurmctld run its scheduler as often as it can, rather than as by Slurm's defaults")
	f.BoolVar(&cfg.Accounting, "accounting", false, "run slurmdbd on a private MariaDB and enforce limits; needs Debian's slurmdbd and mariadb-server-core")
	f.BoolVar(&cfg.Backup, "backup", false, "run a second slurmctld that takes over when the first does not answer for 6 s; root only")
	f.StringVar(&cfg.Root, "root", "", "run the Slurm installed in this file-system tree (made by debootstrap)")
	f.DurationVar(&cfg.StartTimeout, "timeout", 90*time.Second, "how long the nodes may take to become idle")
	return c
}

// parsePartitions reads NAME or NAME=NODE,NODE.
func parsePartitions(list []string) ([]lab.Partition, error) {
	var parts []lab.Partition
	for _, text := range list {
		name, nodes, some := strings.Cut(text, "=")
		p := lab.Partition{Name: name}
		if some {
			p.Nodes = strings.Split(nodes, ",")
		}
		if name == "" || some && nodes == "" {
			return nil, fmt.Errorf("--partition %q: write NAME or NAME=NODE,NODE", text)
		}
		parts = append(parts, p)
	}
	return parts, nil
}

func printUp(w io.Writer, l *lab.Lab, took time.Duration) {
	cfg := l.Config()
	fmt.Fprintf(w, "Slurm %s with %d nodes x %d GPUs is up after %.1f s in %s\n", l.Release(), cfg.Nodes, cfg.GPUs, took.Seconds(), l.Dir())
	for _, n := range l.Notes() {
		fmt.Fprintf(w, "note: %s\n", n)
	}
	flag := ""
	if l.Dir() != lab.DefaultDir() {
		flag = " --dir " + l.Dir()
	}
	fmt.Fprintf(w, "next: eval \"$(sluice lab env%s)\"   and, in the end:   sluice lab down%s\n", flag, flag)
}

func newLabEnvCommand(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "env",
		Short: `Print the variables that select the lab, for eval "$(sluice lab env)"`,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := lab.Open(*dir)
			if err != nil {
				return err
			}
			for _, v := range l.Env() {
				name, value, _ := strings.Cut(v, "=")
				fmt.Fprintf(cmd.OutOrStdout(), "export %s='%s'\n", name, strings.ReplaceAll(value, "'", `'\''`))
			}
			if _, err := os.Stat(labConf(l)); err == nil {
				fmt.Fprintf(cmd.OutOrStdout(), "export SLUICE_CONF='%s'\n", strings.ReplaceAll(labConf(l), "'", `'\''`))
			}
			return nil
		},
	}
}

func newLabStatusCommand(dir *string) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "status",
		Short: "Show the lab's daemons and nodes; exit 1 unless all are healthy",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := lab.Open(*dir)
			if err != nil {
				return err
			}
			s, err := l.Status(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				err = enc.Encode(s)
			} else {
				err = printStatus(cmd.OutOrStdout(), s)
			}
			if trouble := s.Trouble(); err == nil && trouble != "" {
				err = errors.New("lab " + s.Dir + ": " + trouble)
			}
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func printStatus(w io.Writer, s lab.Status) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "DIR\t%s\nSLURM\t%s, SlurmUser %s\nCONF\t%s\nSTEPS\t%d\n\n", s.Dir, s.Release, s.SlurmUser, s.Conf, s.Steps)
	fmt.Fprintf(t, "DAEMON\tPID\n")
	for _, d := range s.Daemons {
		pid := "-"
		if d.PID != 0 {
			pid = fmt.Sprint(d.PID)
		}
		fmt.Fprintf(t, "%s\t%s\n", d.Name, pid)
	}
	if len(s.Nodes) > 0 {
		fmt.Fprintf(t, "\nNODE\tSTATE\tGRES\n")
	}
	for _, n := range s.Nodes {
		fmt.Fprintf(t, "%s\t%s\t%s\n", n.Name, n.State, n.Gres)
	}
	return t.Flush()
}

func newLabDownCommand(dir *string) *cobra.Command {
	var keep bool
	c := &cobra.Command{
		Use:   "down",
		Short: "Stop the lab, its jobs included, and remove its directory",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := lab.Open(*dir)
			if err != nil {
				return err
			}
			defer terminal.Busy(cmd.ErrOrStderr(), "stopping Slurm and its jobs")()
			endLabDaemon(cmd.Context(), l)
			if keep {
				return l.Stop(cmd.Context())
			}
			return l.Down(cmd.Context())
		},
	}
	c.Flags().BoolVar(&keep, "keep", false, "keep the directory with the logs and what jobs wrote")
	return c
}
