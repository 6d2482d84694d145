package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/reach"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/etc"
)

// verdict is the severity of a finding.
type verdict string

// The verdicts.
const (
	fine    verdict = "OK"
	warning verdict = "WARN" // works, but slower or less than possible
	failure verdict = "FAIL" // elastic jobs will not work
)

// finding is the result of one check.
type finding struct {
	Verdict verdict `json:"verdict"`
	About   string  `json:"about"`
	Text    string  `json:"text"`
	Do      string  `json:"do,omitempty"`   // what to type or change
	Type    string  `json:"type,omitempty"` // the exact command, if one repairs it
	// Set are the settings of sluice.toml that repair it, if some do.
	Set []etc.Setting `json:"set,omitempty"`
}

func passed(about, format string, args ...any) finding {
	return finding{Verdict: fine, About: about, Text: fmt.Sprintf(format, args...)}
}

func warned(about, do, format string, args ...any) finding {
	return finding{Verdict: warning, About: about, Text: fmt.Sprintf(format, args...), Do: do}
}

func failed(about, do, format string, args ...any) finding {
	return finding{Verdict: failure, About: about, Text: fmt.Sprintf(format, args...), Do: do}
}

// typed is the finding with the command, to be typed as root, that repairs it.
func typed(f finding, command string) finding {
	f.Do, f.Type = command, command
	return f
}

func newDoctorCommand() *cobra.Command {
	var asJSON bool
	var write, yes, dry *bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check Slurm, the settings that slow a resize, permissions, shares, clocks, folders, the daemon",
		Long: `Checks what elastic jobs need and what makes a resize slow, one line each: OK, WARN
(works, but not as well as it could) or FAIL (will not work), with what to do. It changes
nothing, except that it makes and removes one small file in the jobs' folder.
The exit code is 1 if a check failed.

--fix shows the settings that it recommends for sluice.toml as a unified diff, and writes
them after a yes on a terminal, or with --yes. The old file stays beside it as
sluice.toml.old. What is not in that file (slurm.conf, folders, accounts) it does not
change: it names that, with what to type.`,
		Example: "  sluice doctor\n  sluice doctor --fix --dry-run\n  sudo sluice doctor --fix",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (*dry || *yes) && !*write {
				return errors.New("--dry-run and --yes go with --fix")
			}
			c, err := reach.Site(cmd)
			if err != nil {
				return err
			}
			user, _ := cmd.Flags().GetBool("user")
			all := examine(cmd.Context(), patient{site: c, user: user, config: configNamed(cmd), now: time.Now})
			if err := printFindings(cmd.OutOrStdout(), all, asJSON); err != nil {
				return err
			}
			if *write {
				how := fixing{dry: *dry, agree: func() (bool, error) { return agreed(cmd) }}
				if *yes {
					how.agree = func() (bool, error) { return true, nil }
				}
				if err := fix(cmd.OutOrStdout(), patient{user: user || c.Own, config: configNamed(cmd)}, all, how); err != nil {
					return err
				}
			}
			for _, f := range all {
				if f.Verdict == failure {
					return terminal.ExitCode(1)
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	write, yes, dry = fixFlags(c)
	return c
}

// configNamed is the configuration file that the user gave; "" = none.
func configNamed(cmd *cobra.Command) string {
	if file, _ := cmd.Flags().GetString("config"); file != "" {
		return file
	}
	return os.Getenv("SLUICE_CONF")
}

// patient is the site being checked.
type patient struct {
	site etc.Config
	user bool // a sluiced --user is checked
	// config is the file in force, as sluiced must be started with it; "" = it finds the
	// file itself.
	config string
	now    func() time.Time
}

// examine runs all checks; a check that fails does not prevent the others.
func examine(ctx context.Context, p patient) []finding {
	status, reached, findings := examineDaemon(ctx, p)
	if reached && status.Mode == "user" {
		p.user = true
	}
	// In the order of the steps that set up a new site.
	all, settings, seen := examineSlurm(ctx, p)
	account, is := examineAccount(p, status)
	all = append(all, is...)
	if seen {
		all = append(all, examineRights(ctx, p, settings, account)...)
		all = append(all, examineShares(ctx, p, settings)...)
	}
	all = append(all, examineService(ctx, p, status, reached)...)
	all = append(all, examineFolders(p, account)...)
	all = append(all, examineHome(p, account, reached)...)
	if !reached && !p.user && findings[0].Do == "" && reach.Address(p.site) == "" {
		findings[0] = typed(findings[0], startCommand(account, p.config))
	}
	findings = append(findings, examineFence(ctx, p)...)
	findings = append(findings, examineMessages(status.Messages)...)
	return append(append(all, findings...), onlySeenThere(status.Troubles, all)...)
}

// examineMessages reports messages that could not be sent.
func examineMessages(m wire.Messages) []finding {
	if m.Failed+m.Dropped == 0 {
		return nil
	}
	do := "see [notify] in sluice.toml, MailProg in slurm.conf, and sluiced's log for event=unsent"
	return []finding{warned("messages", do, "%s", messagesOf(m))}
}

// onlySeenThere are the daemon's troubles that cannot be seen from here, such as a folder
// that only the daemon cannot write to.
func onlySeenThere(troubles []wire.Trouble, found []finding) []finding {
	var all []finding
	for _, t := range troubles {
		seen := slices.ContainsFunc(found, func(f finding) bool { return f.About == t.Code && f.Verdict == failure })
		if !seen {
			all = append(all, failed("daemon", t.Do, "%s", t.Text))
		}
	}
	return all
}

// examineDaemon queries the daemon's state.
func examineDaemon(ctx context.Context, p patient) (wire.Status, bool, []finding) {
	client, err := reach.Dial(p.site)
	if err != nil {
		return wire.Status{}, false, []finding{failed("daemon", "see [remote] in sluice.toml", "%v", err)}
	}
	status, err := client.Status(ctx)
	if err != nil {
		return status, false, []finding{failed("daemon", "", "%v", err)}
	}
	all := []finding{passed("daemon", "sluiced %s of %s (%s mode, pid %d) answers on %s", status.Program, status.User, status.Mode, status.PID, client.Where())}
	if status.Program != version {
		all = append(all, warned("daemon", "install the same release of both; restart sluiced after an upgrade",
			"sluiced is release %s, this program %s", status.Program, version))
	}
	if status.Blind != "" {
		all = append(all, failed("daemon", "see sluiced's log", "sluiced has had no answer from Slurm for %s: %s", present.Span(status.BlindFor), status.Blind))
	}
	for _, said := range hangs(status) {
		all = append(all, failed("daemon", "on sluiced's host: timeout 5 ls "+p.site.Paths.Jobs+" "+p.site.Paths.Outbox+" "+p.site.Paths.State, "%s", said))
	}
	if status.NoShares != "" {
		all = append(all, warned("shares", "see what 'sshare -a' says; it needs slurmdbd", "%s", noShares(status)))
	}
	if status.GPUs == 0 && !status.Cycled.IsZero() {
		all = append(all, failed("gpus", "give the nodes Gres=gpu:N in slurm.conf and a gres.conf", "Slurm shows no node with GPUs"))
	}
	if report, err := client.Report(ctx); err == nil {
		all = append(all, nodeClocks(report, p.now())...)
		all = append(all, lostGPUs(report)...)
	}
	return status, true, all
}

// nodeClocks compares the heartbeats of jobs with this host's clock.
func nodeClocks(report wire.Report, now time.Time) []finding {
	var all []finding
	for _, j := range report.Jobs {
		if ahead := j.Heartbeat.Sub(now); !j.Ended && ahead > tolerable {
			all = append(all, warned("clock", "run NTP on all nodes", "the clock of %s is %s ahead of this host's (heartbeat of job %d)",
				strings.Join(j.Place.Nodes(), ", "), terminal.Clock(ahead), j.JobID))
		}
	}
	return all
}

// lostGPUs are GPUs that Slurm counts as used on nodes where it has no job: it gives
// every job at least one CPU. They are unusable until slurmctld is restarted.
func lostGPUs(report wire.Report) []finding {
	var all []finding
	for _, n := range report.Nodes {
		if n.Used > 0 && n.CPUsUsed == 0 {
			all = append(all, warned("gpus", "restart slurmctld; jobs run on meanwhile",
				"Slurm counts %d GPUs of %s as used, where it has no job", n.Used, n.Name))
		}
	}
	return all
}

// oneLine joins the lines of a program's output.
func oneLine(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	for i, line := range lines {
		lines[i] = strings.Join(strings.Fields(line), " ")
	}
	return strings.Join(lines, "; ")
}

// printFindings prints the findings, one per line with what to do below it.
func printFindings(w io.Writer, all []finding, asJSON bool) error {
	if asJSON {
		return terminal.WriteJSON(w, all)
	}
	width := 0
	for _, f := range all {
		width = max(width, len(f.About))
	}
	var b strings.Builder
	for _, f := range all {
		fmt.Fprintf(&b, "%-4s  %-*s  %s\n", f.Verdict, width, f.About, terminal.Escape(oneLine(f.Text)))
		if f.Do != "" {
			fmt.Fprintf(&b, "      %-*s  -> %s\n", width, "", terminal.Escape(oneLine(f.Do)))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
