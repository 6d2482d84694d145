package main

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

func newPlanCommand() *cobra.Command {
	var asJSON, noHeader, all bool
	c := &cobra.Command{
		Use:   "plan",
		Short: "Print what sluice would do next, and why, without doing it",
		Long: `Decides as the next cycle will, at its time, from what sluiced saw last, and prints the
moves and their reasons. A move that only waits for the job's cooldown is listed with the
end of the cooldown. No job is signalled and nothing is written.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := daemonFor(cmd)
			if err != nil {
				return err
			}
			p, err := client.Plan(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return terminal.WriteJSON(cmd.OutOrStdout(), p)
			}
			return plan(cmd.OutOrStdout(), p, all, noHeader)
		},
	}
	helpWithoutShorthand(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVarP(&noHeader, "noheader", "h", false, "print no header")
	c.Flags().BoolVarP(&all, "all", "a", false, "also list the jobs that do not change")
	return c
}

func plan(w io.Writer, p wire.Plan, all, noHeader bool) error {
	rows := slices.Concat(p.Moves, p.Later)
	if all {
		rows = append(rows, p.Stays...)
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintf(w, "no moves at %s, the next cycle; %s (policy %s, as of %s)\n", clockOf(p.At, p.Next), stays(len(p.Stays)), p.Policy, present.When(p.At))
		return err
	}
	t := terminal.Table{NoHeader: noHeader, Room: terminal.Room(w), Columns: []terminal.Column{terminal.Right("JOBID"), terminal.Left("NAME"), terminal.Left("USER"),
		terminal.Left("ACTION"), terminal.Left("WHEN"), terminal.Left("GPUS"), terminal.Left("FROM"), terminal.Left("TO"), terminal.Left("REASON")}}
	for _, r := range rows {
		at := clockOf(p.At, r.When)
		if r.When.After(p.Next) { // one of Later: a cooldown ends after the next cycle
			r.Reason = "rests until " + at + "; then " + r.Reason
		}
		t.Add(fmt.Sprint(r.JobID), r.Name, r.User, action(r), at, change(r), r.From.String(), r.To.String(), r.Reason)
	}
	return t.Write(w)
}

// clockOf is a time of day, with its date if it is not near; "-" for none.
func clockOf(now, t time.Time) string {
	switch {
	case t.IsZero():
		return "-"
	case t.Sub(now).Abs() < 12*time.Hour:
		return t.Local().Format("15:04:05")
	}
	return present.When(t)
}

func stays(n int) string {
	switch n {
	case 0:
		return "there are no jobs"
	case 1:
		return "1 job stays as it is"
	}
	return fmt.Sprintf("%d jobs stay as they are", n)
}

// action is what happens to the job, in one word.
func action(r wire.Planned) string {
	from, to := r.From.GPUs(), r.To.GPUs()
	switch {
	case r.Kind == "":
		return "stay"
	case r.Kind == "start", r.Kind == "park":
		return r.Kind
	case to > from:
		return "grow"
	case to < from:
		return "shrink"
	}
	return "move"
}

func change(r wire.Planned) string {
	if r.From.GPUs() == r.To.GPUs() {
		return fmt.Sprint(r.To.GPUs())
	}
	return fmt.Sprintf("%d>%d", r.From.GPUs(), r.To.GPUs())
}
