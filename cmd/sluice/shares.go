package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

func newSharesCommand() *cobra.Command {
	var asJSON, asCSV, noHeader bool
	c := &cobra.Command{
		Use:   "shares",
		Short: "Show the accounts and users with their shares and their GPUs",
		Long: `Shows how GPUs were divided by the shares of accounts and users, as sshare has them, in
the last cycle. An account stands above what is below it, and counts all of that. Users
are listed that have jobs.

SHARES count among those below the same account. DESERVED are the GPUs that they give
now: no account or user deserves more than its jobs could use (WANTED). BORROWED is what an account
has beyond its part of the cluster by shares alone, LENT what of that part others have.
FAIRSHARE is Slurm's factor, by which it orders jobs. Ordinary jobs are not counted.`,
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
				terminal.Warn(errs, "shares do not count: PriorityWeightFairshare is 0, or priority/multifactor is not used")
			case s.Problem != "" && s.Read.IsZero():
				terminal.Warn(errs, "the tree of shares cannot be read, so GPUs are not divided by shares: "+terminal.Escape(s.Problem))
			case s.Problem != "":
				terminal.Warn(errs, fmt.Sprintf("the tree of shares cannot be read; that of %s stands: %s", when(s.Read), terminal.Escape(s.Problem)))
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

// printShares prints the tree, each level two blanks further in.
func printShares(w io.Writer, s wire.Shares, noHeader bool) error {
	t := terminal.Table{NoHeader: noHeader, Room: terminal.Room(w), Columns: []terminal.Column{terminal.Left("ACCOUNT"), terminal.Left("USER"), terminal.Right("SHARES"),
		terminal.Right("DESERVED"), terminal.Right("USED"), terminal.Right("BORROWED"), terminal.Right("LENT"), terminal.Right("WANTED"), terminal.Right("FAIRSHARE")}}
	for _, l := range s.Lines {
		row := cellsOf(l)
		row[0] = strings.Repeat("  ", l.Depth) + row[0]
		for i, cell := range row {
			if i > 1 && cell == "" {
				row[i] = "-"
			}
		}
		t.Add(row...)
	}
	return t.Write(w)
}

// sharesCSV prints the lines with the account above each account.
func sharesCSV(w io.Writer, s wire.Shares, noHeader bool) error {
	out := csv.NewWriter(w)
	if !noHeader {
		_ = out.Write([]string{"account", "user", "shares", "deserved", "used", "borrowed", "lent", "wanted", "fairshare", "parent"})
	}
	for _, l := range s.Lines {
		row := append(cellsOf(l), l.Parent)
		for i := range row {
			row[i] = inert(row[i])
		}
		_ = out.Write(row) // Flush keeps the error
	}
	out.Flush()
	return out.Error()
}

// cellsOf returns the cells of a line, "" for what it does not have.
func cellsOf(l wire.Share) []string {
	row := []string{l.Account, l.User, gpuFigure(l.Shares), strconv.Itoa(l.Deserved), strconv.Itoa(l.Used), "", "", strconv.Itoa(l.Wanted), ""}
	if l.Inherits {
		row[2] = "parent"
	}
	if l.User == "" && !l.Inherits {
		row[5], row[6] = gpuFigure(l.Borrowed), gpuFigure(l.Lent)
	}
	if l.FairShare != nil {
		row[8] = strconv.FormatFloat(*l.FairShare, 'f', 3, 64)
	}
	return row
}

// gpuFigure writes a number with one decimal, if it is not whole.
func gpuFigure(x float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
}
