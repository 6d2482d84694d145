package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/sbatch"
)

// reportOptions are the command line of "sluice report".
type reportOptions struct {
	since, until, by    string
	json, csv, noHeader bool
}

func newReportCommand() *cobra.Command {
	var o reportOptions
	c := &cobra.Command{
		Use:   "report --since TIME",
		Short: "Report what accounts, users or models used: GPU-hours, waits, moves",
		Long: `Reports what sluice's jobs used in a time range, one row for each account, user or
model. On a site that keeps jobs private you see your own, an operator all.

  JOBS     jobs that ended + jobs that ran at the end of the range
  GPU-H    GPU-hours held
  EXTRA-H  of these, on GPUs beyond the jobs' minimums
  WAIT     median time from submission to first run, of jobs that first ran then
  LONGEST  the longest of these
  MOVES    runs that sluice began, without each job's first
  DEAD-H   GPU-hours held in moves while the job did not train
  LOST-H   hours by which moves delayed their jobs, repeated work included
  KEPT     admitted deadlines that were met / that were met or missed

TIME is 7d, 12h or 2w, now-7days, a time of day, or a date such as 2026-11-01T18:00.
Ordinary Slurm jobs are not counted. Jobs that ended more than 90 days ago are no longer
stored: for a year, keep the output of --csv once a month.`,
		Example: `  sluice report --since 30d --by user
  sluice report --since 2026-10-01 --until 2026-11-01 --csv >> 2026.csv`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			since, until, err := o.times(time.Now())
			if err != nil {
				return err
			}
			client, err := daemonFor(cmd)
			if err != nil {
				return err
			}
			u, err := client.Usage(cmd.Context(), o.by, since, until)
			if err != nil {
				return err
			}
			o.warn(cmd.ErrOrStderr(), u)
			return o.print(cmd.OutOrStdout(), u)
		},
	}
	helpWithoutShorthand(c)
	f := c.Flags()
	f.StringVar(&o.since, "since", "", "begin of the range, such as 30d or 2026-11-01")
	f.StringVar(&o.until, "until", "", "end of the range (default now)")
	f.StringVar(&o.by, "by", "account", "one row for each account, user or model")
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.BoolVar(&o.csv, "csv", false, "print CSV, for spreadsheets")
	f.BoolVarP(&o.noHeader, "noheader", "h", false, "print no header")
	return c
}

// times reads the range; a zero until is now.
func (o reportOptions) times(now time.Time) (since, until time.Time, err error) {
	if o.json && o.csv {
		return since, until, errors.New("one format at a time: --json or --csv")
	}
	if o.since == "" {
		return since, until, errors.New("since when? sluice report --since 30d; --since 2026-11-01 --until 2026-12-01")
	}
	if since, err = sbatch.ParsePast(o.since, now); err != nil {
		return since, until, fmt.Errorf("--since=%s: %w", o.since, err)
	}
	if o.until != "" {
		if until, err = sbatch.ParsePast(o.until, now); err != nil {
			return since, until, fmt.Errorf("--until=%s: %w", o.until, err)
		}
	}
	return since, until, nil
}

// warn says what the report leaves out.
func (o reportOptions) warn(errs io.Writer, u wire.Usage) {
	if u.Kept.After(u.From) {
		terminal.Warn(errs, fmt.Sprintf("jobs that ended before %s are no longer stored and are missing", present.When(u.Kept)))
	}
	if u.Own {
		terminal.Warn(errs, "this site keeps jobs private: the report has your own jobs only")
	}
}

func (o reportOptions) print(w io.Writer, u wire.Usage) error {
	switch {
	case o.json:
		return terminal.WriteJSON(w, u)
	case o.csv:
		return reportCSV(w, u, o.noHeader)
	}
	return reportTable(w, u, o.noHeader)
}

// reportColumns are the columns after the name.
var reportColumns = []struct {
	head string
	cell func(r wire.UsageRow) string
}{
	{"JOBS", func(r wire.UsageRow) string { return fmt.Sprintf("%d+%d", r.Ended, r.Running) }},
	{"GPU-H", func(r wire.UsageRow) string { return hours(r.GPUHours) }},
	{"EXTRA-H", func(r wire.UsageRow) string { return hours(r.Beyond) }},
	{"WAIT", func(r wire.UsageRow) string { return waited(r, r.WaitMedian) }},
	{"LONGEST", func(r wire.UsageRow) string { return waited(r, r.WaitLongest) }},
	{"MOVES", func(r wire.UsageRow) string { return strconv.Itoa(r.Moves) }},
	{"DEAD-H", func(r wire.UsageRow) string { return hours(r.DeadHours) }},
	{"LOST-H", func(r wire.UsageRow) string { return hours(r.LostHours) }},
	{"KEPT", keptOf},
}

func reportTable(w io.Writer, u wire.Usage, noHeader bool) error {
	heads := map[string]string{"account": "ACCOUNT", "user": "USER", "model": "MODEL"}
	t := terminal.Table{NoHeader: noHeader, Room: terminal.Room(w), Columns: []terminal.Column{terminal.Left(cmp.Or(heads[u.By], "NAME"))}}
	rows := u.Rows
	if u.Others != nil {
		others := *u.Others
		others.Name = "(others)"
		rows = append(rows, others)
	}
	total := u.Total
	total.Name = "total"
	for _, c := range reportColumns {
		t.Columns = append(t.Columns, terminal.Right(c.head))
	}
	for _, row := range append(rows, total) {
		cells := []string{row.Name}
		for _, c := range reportColumns {
			cells = append(cells, c.cell(row))
		}
		t.Add(cells...)
	}
	t.Columns[0].Width = nameWidth(t)
	if err := t.Write(w); err != nil || noHeader {
		return err
	}
	_, err := fmt.Fprintf(w, "from %s to %s\n", present.When(u.From), present.When(u.To))
	return err
}

// A name is shortened to what 80 columns leave it, but to no less than leastName characters.
const reportWidth, leastName = 80, 8

// nameWidth is the width of the first column.
func nameWidth(t terminal.Table) int {
	name, rest := 0, 0
	for i, c := range t.Columns {
		width := len(c.Head)
		for _, row := range t.Rows {
			width = max(width, utf8.RuneCountInString(terminal.Escape(row[i])))
		}
		if i == 0 {
			name = width
			continue
		}
		rest += width + 2
	}
	return min(name, max(leastName, reportWidth-rest))
}

// hours formats hours with at most two decimals, and three digits if there are decimals.
func hours(h float64) string {
	switch {
	case h == 0:
		return "0"
	case h < 0.005:
		return "<0.01"
	case h >= 100:
		return strconv.FormatFloat(h, 'f', 0, 64)
	case h >= 10:
		return strconv.FormatFloat(h, 'f', 1, 64)
	}
	return strconv.FormatFloat(h, 'f', 2, 64)
}

// waited formats a wait to two or three digits; "-" if no job ran first in the range.
func waited(r wire.UsageRow, seconds float64) string {
	switch {
	case r.FirstRuns == 0:
		return "-"
	case seconds < 100:
		return fmt.Sprintf("%.0fs", seconds)
	case seconds < 100*60:
		return fmt.Sprintf("%.0fm", seconds/60)
	case seconds < 48*3600:
		return fmt.Sprintf("%.1fh", seconds/3600)
	}
	return fmt.Sprintf("%.1fd", seconds/86400)
}

func keptOf(r wire.UsageRow) string {
	if r.Promised == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d", r.Kept, r.Promised)
}
