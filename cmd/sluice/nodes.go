package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

func newNodesCommand() *cobra.Command {
	var o nodeOptions
	var every seconds
	var trust []string
	var change drainOptions
	c := &cobra.Command{
		Use:   "nodes",
		Short: "List the nodes with GPUs and what is free on them",
		Long: `Lists the nodes as sluiced last saw them. USED counts the GPUs of jobs of any kind,
ELASTIC those of sluice jobs among them, FREE those that a job could get now.

HEALTH is what running jobs reported about a node's GPUs: unfit nodes get no new sluice
jobs, doubted ones are used nevertheless. The lines below give the reasons. After a
check of such a node an operator makes it usable again with --trust, until another job
or another reason is reported.

--drain says what happens to the jobs on a node and drains it, by scontrol and with your
own rights. Elastic jobs of which a checkpoint was seen leave a drained node, whoever
drained it: at their size if there is room, else at the largest size that fits; if none
fits they run on until one does. They also leave a node before a maintenance reservation
(Flags=MAINT), and then wait if none fits.

` + present.Nodes.FormatHelp(),
		Example: "  sluice nodes\n  sluice nodes -o node,free,jobs -S -free\n  sluice nodes --drain gpu3 --reason 'kernel update' --dry-run\n  sluice nodes --resume gpu[3-4]\n  sluice nodes --trust gpu3",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := change.check(); err != nil {
				return err
			}
			client, err := daemonFor(cmd)
			if err != nil {
				return err
			}
			if change.drain != "" || change.resume != "" {
				return change.changeNodes(cmd, client, cmd.ErrOrStderr())
			}
			if len(trust) > 0 {
				return trustNodes(cmd, client, trust)
			}
			return every.repeat(cmd, func(ctx context.Context) error {
				report, err := client.Present(ctx)
				if err != nil {
					return err
				}
				warnBlind(cmd.ErrOrStderr(), report.Blind, report.BlindFor, report.At)
				return o.print(cmd.OutOrStdout(), report)
			})
		},
	}
	helpWithoutShorthand(c)
	c.Flags().BoolVar(&o.json, "json", false, "print JSON")
	c.Flags().StringVarP(&o.format, "format", "o", "", "columns: names separated by commas, or letters as sinfo's: see above")
	c.Flags().StringVarP(&o.sort, "sort", "S", "", "sort by these fields, names or letters separated by commas; -FIELD: the highest first")
	every.flag(c)
	c.Flags().StringSliceVar(&trust, "trust", nil, "use these nodes whatever jobs reported about their GPUs (operators)")
	change.flags(c)
	c.Flags().BoolVarP(&o.noHeader, "noheader", "h", false, "print no header")
	return c
}

// nodeOptions say how nodes are listed.
type nodeOptions struct {
	json, noHeader bool
	format, sort   string
}

func (o nodeOptions) print(w io.Writer, report wire.Report) error {
	layout, err := present.Nodes.ParseFormat(cmp.Or(o.format, present.NodeFormat))
	if err != nil {
		return err
	}
	if err := present.Nodes.Sort(report.Nodes, o.sort); err != nil {
		return err
	}
	if o.json {
		return terminal.WriteJSON(w, report.Nodes)
	}
	t := layout.Table(report.Nodes, report.At)
	t.NoHeader, t.Room = o.noHeader, terminal.Room(w)
	if err := t.Write(w); err != nil || o.noHeader || o.format != "" && layout.Index("health") < 0 {
		return err
	}
	for i, line := range present.HealthLines(report.Nodes) {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, line)
	}
	return nil
}

// trustNodes orders that each node is used again.
func trustNodes(cmd *cobra.Command, client *client.Client, names []string) error {
	var errs []error
	for _, name := range names {
		err := client.Trust(cmd.Context(), name)
		if err == nil {
			fmt.Fprintf(cmd.OutOrStdout(), "%s is used again, whatever was reported about its GPUs\n", terminal.Escape(name))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
