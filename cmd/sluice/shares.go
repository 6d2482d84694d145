package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

func newSharesCommand() *cobra.Command {
	var asJSON, asCSV, noHeader bool
	c := &cobra.Command{
		Use:   "shares",
		Short: "Show the accounts and users with their shares and their GPUs",
		Long: `Shows how GPUs were divided by the shares of accounts and users in the last cycle, and
what they used. The shares are those of sluice.toml ([shares.NAME]) if it has any, else
those that sshare shows. An account stands above what is below it, and counts all of
that. Users are listed that have jobs, or had GPUs in the last 30 days.

  SHARES     they count among those below the same account
  DAY-H      GPU-hours held in the last 24 hours, WEEK-H in the last 7 days and MONTH-H
             in the last 30 days: GPU-H of 'sluice report'
  DESERVED   GPUs that the shares give now: at most what its jobs could use (WANTED)
  USED       GPUs that its jobs have now
  BORROWED   what an account has beyond its part of the cluster by shares alone
  LENT       what others have of that part
  WANTED     GPUs that its jobs could use now
  FAIR       Slurm's factor of fair share, 0 to 1, by which it orders jobs

Ordinary jobs are not counted. The hours are added up at most once a minute. Where jobs
are private, users see their own.`,
		Example: "  sluice shares\n  sluice shares --csv > shares.csv",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := daemonFor(cmd)
			if err != nil {
				return err
			}
			s, err := client.Shares(cmd.Context())
			if err != nil {
				return err
			}
			errs := cmd.ErrOrStderr()
			warnBlind(errs, s.Blind, s.BlindFor, s.At)
			switch {
			case !s.Count:
				terminal.Warn(errs, "shares do not count: sluice.toml has no [shares.NAME], and PriorityWeightFairshare is 0 or priority/multifactor is not used")
			case s.Problem != "" && s.Read.IsZero():
				terminal.Warn(errs, "the tree of shares cannot be read, so GPUs are not divided by shares: "+terminal.Escape(s.Problem))
			case s.Problem != "":
				terminal.Warn(errs, fmt.Sprintf("the tree of shares cannot be read; that of %s stands: %s", present.When(s.Read), terminal.Escape(s.Problem)))
			}
			if s.NoHours != "" {
				terminal.Warn(errs, "GPU-hours are not known: "+s.NoHours)
			}
			switch {
			case asJSON:
				return terminal.WriteJSON(cmd.OutOrStdout(), s)
			case asCSV:
				return sharesCSV(cmd.OutOrStdout(), s, noHeader)
			case len(s.Lines) == 0:
				return nil
			}
			return printShares(cmd.OutOrStdout(), s, noHeader)
		},
	}
	helpWithoutShorthand(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&asCSV, "csv", false, "print CSV")
	c.Flags().BoolVarP(&noHeader, "noheader", "h", false, "print no header")
	c.MarkFlagsMutuallyExclusive("json", "csv")
	return c
}

// shareColumns are the columns of the table. A cell is "" for what a line does not have.
var shareColumns = []struct {
	terminal.Column
	cell func(l wire.Share) string
}{
	{terminal.Left("ACCOUNT"), func(l wire.Share) string { return cmp.Or(l.Account, "(none)") }},
	{terminal.Left("USER"), func(l wire.Share) string { return l.User }},
	{terminal.Right("SHARES"), sharesCell},
	{terminal.Right("DAY-H"), hoursCell(func(h wire.GPUHours) float64 { return h.Day })},
	{terminal.Right("WEEK-H"), hoursCell(func(h wire.GPUHours) float64 { return h.Week })},
	{terminal.Right("MONTH-H"), hoursCell(func(h wire.GPUHours) float64 { return h.Month })},
	{terminal.Right("DESERVED"), func(l wire.Share) string { return strconv.Itoa(l.Deserved) }},
	{terminal.Right("USED"), func(l wire.Share) string { return strconv.Itoa(l.Used) }},
	{terminal.Right("BORROWED"), func(l wire.Share) string { return ofAccount(l, l.Borrowed) }},
	{terminal.Right("LENT"), func(l wire.Share) string { return ofAccount(l, l.Lent) }},
	{terminal.Right("WANTED"), func(l wire.Share) string { return strconv.Itoa(l.Wanted) }},
	{terminal.Right("FAIR"), fairCell},
}

func sharesCell(l wire.Share) string {
	if l.Inherits {
		return "parent"
	}
	return gpuFigure(l.Shares)
}

func hoursCell(of func(wire.GPUHours) float64) func(wire.Share) string {
	return func(l wire.Share) string {
		if l.Hours == nil {
			return ""
		}
		return hours(of(*l.Hours))
	}
}

func ofAccount(l wire.Share, gpus float64) string {
	if l.User != "" || l.Inherits {
		return ""
	}
	return gpuFigure(gpus)
}

func fairCell(l wire.Share) string {
	if l.FairShare == nil {
		return ""
	}
	return strconv.FormatFloat(*l.FairShare, 'f', 3, 64)
}

// printShares prints the tree, each level two blanks further in, and users as far in as their account.
func printShares(w io.Writer, s wire.Shares, noHeader bool) error {
	t := terminal.Table{NoHeader: noHeader, Room: terminal.Room(w)}
	fillShares(&t, s)
	return t.Write(w)
}

// fillShares adds the columns and rows.
func fillShares(t *terminal.Table, s wire.Shares) {
	for _, c := range shareColumns {
		t.Columns = append(t.Columns, c.Column)
	}
	for _, l := range s.Lines {
		row := make([]string, len(shareColumns))
		for i, c := range shareColumns {
			if row[i] = c.cell(l); i > 1 && row[i] == "" {
				row[i] = "-"
			}
		}
		depth := l.Depth
		if l.User != "" {
			depth--
		}
		row[0] = strings.Repeat("  ", depth) + row[0]
		t.Add(row...)
	}
	narrow(t, 2)
}

// narrow shortens the names in the first columns, the longest first, to what the terminal leaves them,
// but to no less than leastName characters.
func narrow(t *terminal.Table, names int) {
	widths, over := make([]int, len(t.Columns)), -2-t.Room
	for i, c := range t.Columns {
		widths[i] = utf8.RuneCountInString(c.Head)
		for _, row := range t.Rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(terminal.Escape(row[i])))
		}
		over += widths[i] + 2
	}
	for ; t.Room > 0 && over > 0; over-- {
		at := 0
		for i := range names {
			if widths[i] > widths[at] {
				at = i
			}
		}
		if widths[at] <= leastName {
			return
		}
		widths[at]--
		t.Columns[at].Width = widths[at]
	}
}

// sharesCSV prints the lines with the account above each account, and GPU-hours that are not rounded.
func sharesCSV(w io.Writer, s wire.Shares, noHeader bool) error {
	out := csv.NewWriter(w)
	if !noHeader {
		_ = out.Write([]string{"account", "user", "shares", "deserved", "used", "borrowed", "lent", "wanted", "fairshare", "parent",
			"gpu_hours_day", "gpu_hours_week", "gpu_hours_month"})
	}
	for _, l := range s.Lines {
		row := []string{inert(l.Account), inert(l.User), sharesCell(l), strconv.Itoa(l.Deserved), strconv.Itoa(l.Used), ofAccount(l, l.Borrowed), ofAccount(l, l.Lent),
			strconv.Itoa(l.Wanted), fairCell(l), inert(l.Parent), "", "", ""}
		if h := l.Hours; h != nil {
			for i, x := range []float64{h.Day, h.Week, h.Month} {
				row[len(row)-3+i] = strconv.FormatFloat(x, 'f', 6, 64)
			}
		}
		_ = out.Write(row) // Flush keeps the error
	}
	out.Flush()
	return out.Error()
}

// gpuFigure writes a number with one decimal, if it is not whole.
func gpuFigure(x float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
}
