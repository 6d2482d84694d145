package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/elastic/control"
)

func newNodesCommand() *cobra.Command {
	var asJSON, noHeader bool
	c := &cobra.Command{
		Use:   "nodes",
		Short: "List the nodes with GPUs and what is free on them",
		Long: `Lists the nodes as sluiced last saw them. USED counts jobs of any kind, ELASTIC
those of sluice among them, FREE what could be given to a job now.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := daemonFor(cmd)
			if err != nil {
				return err
			}
			report, err := client.Report(cmd.Context())
			if err != nil {
				return err
			}
			warnBlind(cmd.ErrOrStderr(), report.Blind, report.BlindFor, report.At)
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), report.Nodes)
			}
			return nodes(cmd.OutOrStdout(), report, noHeader)
		},
	}
	helpWithoutShorthand(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVarP(&noHeader, "noheader", "h", false, "print no header")
	return c
}

func nodes(w io.Writer, report control.Report, noHeader bool) error {
	t := table{noHeader: noHeader, room: room(w), columns: []column{{"NODE", false, 0}, {"PARTITION", false, 0}, {"TYPE", false, 0},
		{"GPUS", true, 0}, {"USED", true, 0}, {"ELASTIC", true, 0}, {"FREE", true, 0}, {"STATE", false, 0}, {"JOBS", false, 0}}}
	for _, n := range report.Nodes {
		state, kind := "up", n.Type
		if !n.Usable {
			state = strings.ToLower(n.Why)
		}
		if kind == "" {
			kind = "-"
		}
		t.add(n.Name, strings.Join(n.Partitions, ","), kind, fmt.Sprint(n.GPUs), fmt.Sprint(n.Used), fmt.Sprint(n.Elastic),
			fmt.Sprint(n.Free), state, strings.Trim(strings.ReplaceAll(fmt.Sprint(n.Jobs), " ", ","), "[]"))
	}
	return t.write(w)
}
