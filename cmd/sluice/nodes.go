package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

func newNodesCommand() *cobra.Command {
	var asJSON, noHeader bool
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
(Flags=MAINT), and then wait if none fits.`,
		Example: "  sluice nodes\n  sluice nodes --drain gpu3 --reason 'kernel update' --dry-run\n  sluice nodes --resume gpu[3-4]\n  sluice nodes --trust gpu3",
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
			report, err := client.Report(cmd.Context())
			if err != nil {
				return err
			}
			warnBlind(cmd.ErrOrStderr(), report.Blind, report.BlindFor, report.At)
			if asJSON {
				return terminal.WriteJSON(cmd.OutOrStdout(), report.Nodes)
			}
			return printNodes(cmd.OutOrStdout(), report, noHeader)
		},
	}
	helpWithoutShorthand(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().StringSliceVar(&trust, "trust", nil, "use these nodes whatever jobs reported about their GPUs (operators)")
	change.flags(c)
	c.Flags().BoolVarP(&noHeader, "noheader", "h", false, "print no header")
	return c
}

func printNodes(w io.Writer, report wire.Report, noHeader bool) error {
	t := terminal.Table{NoHeader: noHeader, Room: terminal.Room(w), Columns: []terminal.Column{terminal.Left("NODE"), terminal.Left("PARTITION"), terminal.Left("TYPE"),
		terminal.Right("GPUS"), terminal.Right("USED"), terminal.Right("ELASTIC"), terminal.Right("FREE"), terminal.Left("STATE"), terminal.Left("HEALTH"), terminal.Left("JOBS")}}
	for _, n := range report.Nodes {
		kind := cmp.Or(n.Type, "-")
		has, used, free := byType(n)
		t.Add(n.Name, strings.Join(n.Partitions, ","), kind, has, used, fmt.Sprint(n.Elastic), free, stateWord(n), healthWord(n), numbers(n.Jobs))
	}
	if err := t.Write(w); err != nil || noHeader {
		return err
	}
	for i, line := range healthLines(report.Nodes) {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, line)
	}
	return nil
}

// byType is how many GPUs the node has, how many are used and free; for several types the
// number of each, in the order of the types.
func byType(n wire.Node) (has, used, free string) {
	if len(n.Types) == 0 {
		return fmt.Sprint(n.GPUs), fmt.Sprint(n.Used), fmt.Sprint(n.Free)
	}
	var all [3][]string
	for _, t := range n.Types {
		for i, count := range []int{t.GPUs, t.Used, t.Free} {
			all[i] = append(all[i], fmt.Sprint(count))
		}
	}
	return strings.Join(all[0], "+"), strings.Join(all[1], "+"), strings.Join(all[2], "+")
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
