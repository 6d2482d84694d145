package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

func newHistoryCommand() *cobra.Command {
	var asJSON, noHeader bool
	c := &cobra.Command{
		Use:   "history JOB",
		Short: "List a job's runs: size, nodes, work, speed, cause and cost of each",
		Long: `Lists a job's runs, one per row. COST is the dead time of the move that led to the
run, in seconds: saving, stopping, starting and loading. AGAIN is the work of the run
before that was repeated, and the time it took: what was trained between the
checkpoint and the stop.`,
		Example: "  sluice history 4711",
		Args:    oneJob,
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := daemonFor(cmd)
			if err != nil {
				return err
			}
			job, err := jobNamed(cmd.Context(), args[0], client.Report)
			if err != nil {
				return err
			}
			h, err := client.History(cmd.Context(), job)
			if err != nil {
				return err
			}
			if asJSON {
				return terminal.WriteJSON(cmd.OutOrStdout(), h)
			}
			return history(cmd.OutOrStdout(), h, noHeader)
		},
	}
	helpWithoutShorthand(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVarP(&noHeader, "noheader", "h", false, "print no header")
	return c
}

func history(w io.Writer, h wire.History, noHeader bool) error {
	work := "EPOCHS"
	if h.Job.Unit == "step" {
		work = "STEPS"
	}
	t := terminal.Table{NoHeader: noHeader, Room: terminal.Room(w), Columns: []terminal.Column{terminal.Right("RUN"), terminal.Right("GPUS"), terminal.Left("PLACE"),
		terminal.Left("STARTED"), terminal.Right("TIME"), terminal.Right(work), terminal.Right("SPEED"), terminal.Right("COST"), terminal.Right("AGAIN"), terminal.Left("CAUSE")}}
	for _, g := range h.Segments {
		end, open := g.Ended, ""
		if end.IsZero() {
			end, open = h.At, "+" // it goes on, as of the daemon's last look
		}
		lasted, cost := "-", "-"
		if !g.Started.IsZero() {
			lasted = terminal.Clock(end.Sub(g.Started)) + open
		}
		if g.Price.Total > 0 {
			cost = present.Figure(g.Price.Total) + "s"
		}
		again := "-"
		if g.Again > 0 {
			again = present.Amount(g.Again)
			if g.AgainSeconds > 0 {
				again += " " + present.Figure(g.AgainSeconds) + "s"
			}
		}
		t.Add(fmt.Sprint(g.Restarts), fmt.Sprint(g.GPUs), g.Place.String(), present.When(g.Started), lasted,
			present.Amount(g.DoneFrom)+"-"+present.Amount(g.DoneTo), present.Pace(g.Seconds, "", present.Unit(&h.Job)), cost, again, g.Cause)
	}
	if err := t.Write(w); err != nil || noHeader {
		return err
	}
	if line := trialLine(h.Job); line != "" {
		if _, err := fmt.Fprintln(w, terminal.Escape(line)); err != nil {
			return err
		}
	}
	if !h.Job.Ended {
		return nil
	}
	_, err := fmt.Fprintf(w, "ended %s: %s\n", present.When(h.Job.EndedAt), terminal.Escape(h.Job.Reason))
	return err
}
