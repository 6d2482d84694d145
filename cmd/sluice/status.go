package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

func newStatusCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "status",
		Short: "Show the sluiced in use, its start, its policy and its view of the cluster",
		Long: `Shows the sluiced that the other commands use: its address, its account, its start
time, its policy, and its view of the cluster. The exit code is 1 if none answers, or
if it gets no answer from Slurm or cannot change jobs.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := daemonFor(cmd)
			if err != nil {
				return err
			}
			s, err := client.Status(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				err = terminal.WriteJSON(cmd.OutOrStdout(), s)
			} else {
				report, _ := client.Report(cmd.Context()) // no state yet: the output says so
				err = printDaemon(cmd.OutOrStdout(), client.Where(), s, report, time.Now())
			}
			if err == nil && (s.Blind != "" || len(s.Troubles) > 0 || len(hangs(s)) > 0) {
				return terminal.ExitCode(1)
			}
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// messagesOf says what became of messages; "" if there were none.
func messagesOf(m wire.Messages) string {
	if m == (wire.Messages{}) {
		return ""
	}
	text := fmt.Sprintf("%d sent, %d wait to be sent", m.Sent, m.Waiting)
	if lost := m.Failed + m.Dropped; lost > 0 {
		text += fmt.Sprintf(", %d could not be sent", lost)
	}
	if m.Users > 0 {
		text += fmt.Sprintf(", %d not to users' webhooks", m.Users)
	}
	if m.Why != "" {
		text += "; the last: " + m.Why
	}
	return text
}

// printDaemon prints one fact a line.
func printDaemon(w io.Writer, where string, s wire.Status, r wire.Report, now time.Time) error {
	whose := "for the whole cluster"
	if s.Mode == "user" {
		whose = "for the jobs of this account only"
	}
	lines := [][2]string{
		{"DAEMON", fmt.Sprintf("sluiced %s, pid %d, answers on %s", s.Program, s.PID, where)},
		{"ACCOUNT", fmt.Sprintf("%s, %s", s.User, whose)},
	}
	if !s.Started.IsZero() {
		lines = append(lines, [2]string{"SINCE", fmt.Sprintf("%s (%s)", present.When(s.Started), terminal.Clock(now.Sub(s.Started)))})
	}
	if s.Cycled.IsZero() {
		lines = append(lines, [2]string{"SLURM", "not queried yet"})
	} else {
		lines = append(lines, [2]string{"POLICY", s.Policy},
			[2]string{"SLURM", "last queried " + present.Ago(s.Cycled, now)},
			[2]string{"SEES", nodesSeen(r) + fmt.Sprintf("%d GPUs, %d of them free", s.GPUs, s.GPUsFree)},
			[2]string{"JOBS", fmt.Sprintf("%d elastic jobs that have not ended, %d between two sizes", s.Jobs, s.Moves)})
	}
	if s.Blind != "" {
		lines = append(lines, [2]string{"ERROR", fmt.Sprintf("no answer from Slurm for %s: %s", present.Span(s.BlindFor), s.Blind)})
	}
	for _, said := range hangs(s) {
		lines = append(lines, [2]string{"ERROR", said})
	}
	if s.NoShares != "" {
		lines = append(lines, [2]string{"SHARES", noShares(s)})
	}
	if s.SpeedsDropped > 0 {
		lines = append(lines, [2]string{"SPEEDS", fmt.Sprintf("%d wait to be stored, %d were dropped: the disk of sluiced's database is slow", s.SpeedsWaiting, s.SpeedsDropped)})
	}
	if said := messagesOf(s.Messages); said != "" {
		lines = append(lines, [2]string{"MESSAGES", said})
	}
	for _, t := range s.Troubles {
		lines = append(lines, [2]string{"ERROR", t.Text}, [2]string{"", "-> " + t.Do})
	}
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "%-8s %s\n", l[0], terminal.Escape(l[1]))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// noShares says why the tree of shares cannot be read, and which one counts.
func noShares(s wire.Status) string {
	which := "the last one stands, of " + present.When(s.SharesRead)
	if s.SharesRead.IsZero() {
		which = "none is known, so GPUs are not divided by shares"
	}
	return fmt.Sprintf("the tree of shares cannot be read; %s: %s", which, s.NoShares)
}

// hangs says which file systems do not answer the daemon.
func hangs(s wire.Status) (said []string) {
	if s.Overdue > 0 {
		said = append(said, fmt.Sprintf("no decisions are made: a cycle is %s late, most likely because the disk of sluiced's database hangs; jobs run on at their size", present.Span(s.Overdue)))
	}
	if s.Unread > 0 {
		said = append(said, fmt.Sprintf("the folders of %s have not answered, the first since %s: perhaps their file system hangs; these jobs keep their size, all others are scheduled",
			terminal.Plural(s.Unread, "job"), present.When(s.UnreadSince)))
	}
	return said
}

// nodesSeen says which nodes the GPUs are on: "3 nodes in gpu, lab (1 not usable) with ".
func nodesSeen(r wire.Report) string {
	if len(r.Nodes) == 0 {
		return ""
	}
	unfit := 0
	var parts []string
	for _, n := range r.Nodes {
		if !n.Usable {
			unfit++
		}
		for _, p := range n.Partitions {
			if !slices.Contains(parts, p) {
				parts = append(parts, p)
			}
		}
	}
	slices.Sort(parts)
	out := fmt.Sprintf("%d nodes in %s", len(r.Nodes), strings.Join(parts, ", "))
	if unfit > 0 {
		out += fmt.Sprintf(" (%d not usable)", unfit)
	}
	return out + " with "
}
