package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

func newShowCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "show JOB...",
		Short:   "Show everything sluice knows about a job",
		Example: "  sluice show 4711\n  sluice show --json 4711",
		Args:    someJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := daemonFor(cmd)
			if err != nil {
				return err
			}
			jobs, err := jobsNamed(cmd.Context(), args, client.Report)
			if err != nil {
				return err
			}
			first := true
			return each(jobs, func(job elastic.JobID) error {
				e, err := client.Explain(cmd.Context(), job)
				if err != nil {
					return err
				}
				if first {
					warnBlind(cmd.ErrOrStderr(), e.Blind, e.BlindFor, e.At)
				}
				gap := !first
				first = false
				return printJob(cmd.OutOrStdout(), e.Job, e.At, asJSON, gap)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, one object a job")
	return c
}

func printJob(w io.Writer, j wire.Job, at time.Time, asJSON, gap bool) error {
	if asJSON { // one object after the other: jq reads them so
		return terminal.WriteJSON(w, j)
	}
	if gap {
		fmt.Fprintln(w)
	}
	var s sheet
	s.put("Job", "%d (%s)", j.JobID, j.Name)
	s.put("User", "%s", j.User)
	s.put("Partition", "%s", j.Partition)
	s.put("State", "%s", stateLine(j))
	s.put("Priority", "%s", priorityLine(j))
	s.put("Trial", "%s", trialLine(j))
	s.put("GPUs", "%s", gpuLine(j))
	s.put("GPUs busy", "%s", busyLine(j))
	s.put("Moving", "%s", moveLine(j, at))
	s.put("Reason", "%s", j.Reason)
	s.put("Problems", "%s", strings.Join(j.Problems, "\n"))
	s.put("Last words", "%s", lastWords(j.LastWords))
	s.put("Orders", "%s", orderLine(j))
	s.put("Work", "%s", workLine(j, at))
	s.put("Speed", "%s", speedLine(j))
	s.put("Move costs", "%s", priceLine(j.Price))
	s.put("Last move", "%s", j.Last)
	s.put("Checkpoint", "%s", checkpointLine(j))
	s.put("Heartbeat", "%s", heartbeatLine(j, at))
	s.put("Array", "%s", present.ArrayLine(j))
	s.put("Model", "%s", j.Model)
	s.put("Comment", "%s", j.Comment)
	s.moment("Submitted", j.Submitted)
	s.moment("First run", j.FirstRun)
	s.put("This run", "%s", runLine(j, at))
	s.moment("Ended", j.EndedAt)
	s.put("Token", "%s", j.Token)
	return s.write(w)
}

// trialLine is the trial of a sweep that a job runs, or ran last: "trial 3 of sweep 4711: val_acc 0.91 at
// epoch 12", with those beside it; "" if there is none.
func trialLine(j wire.Job) string {
	t := j.Trial
	if t == nil {
		return ""
	}
	words := []string{fmt.Sprintf("trial %d of sweep %d: %s", t.Trial, t.Sweep, reported(t))}
	for i := range t.Beside {
		words = append(words, fmt.Sprintf("trial %d: %s", t.Beside[i].Trial, reported(&t.Beside[i])))
	}
	return strings.Join(words, "; ")
}

// reported is what a trial reported last.
func reported(t *wire.Trial) string {
	if t.Value == nil {
		return "nothing reported yet"
	}
	return fmt.Sprintf("%s %s at epoch %s", t.Metric, present.Metric(*t.Value), present.Metric(t.Epoch))
}

// lastWords is why a job failed and its last output.
func lastWords(w *wire.LastWords) string {
	if w == nil {
		return ""
	}
	return strings.Join(append([]string{w.Why}, w.Lines...), "\n")
}

func stateLine(j wire.Job) string {
	s := j.State
	if j.SlurmReason != "" && j.SlurmReason != "None" {
		s += " (" + j.SlurmReason + ")"
	}
	return s
}

// priorityLine is empty for a job that does not wait.
func priorityLine(j wire.Job) string {
	if j.Priority == 0 {
		return ""
	}
	return strconv.FormatInt(j.Priority, 10) + " (of the jobs that wait, the highest starts first)"
}

func gpuLine(j wire.Job) string {
	s := fmt.Sprintf("%d on %s", j.GPUs, j.Place)
	if j.GPUs == 0 {
		s = "none"
	}
	if j.Ended {
		s = "last " + s
	}
	s += ", accepts " + present.Sizes(&j)
	if j.Uneven {
		s += ", unevenly split too"
	}
	return s
}

func moveLine(j wire.Job, at time.Time) string {
	if j.Move == nil {
		return ""
	}
	what := j.Move.Kind
	if to := j.Move.Target.String(); to != "" {
		what += " to " + to
	}
	return fmt.Sprintf("%s: %s (R%d, for %s)", what, j.Move.Doing, j.Move.Step, terminal.Clock(at.Sub(j.Move.Since)))
}

func orderLine(j wire.Job) string {
	var orders []string
	if j.Pinned > 0 {
		orders = append(orders, fmt.Sprintf("pinned to %s ('sluice resize %d --gpus auto' undoes it)", terminal.Plural(j.Pinned, "GPU"), j.JobID))
	}
	if j.OnHold {
		orders = append(orders, fmt.Sprintf("held ('sluice release %d' undoes it)", j.JobID))
	}
	return strings.Join(orders, "\n")
}

func workLine(j wire.Job, at time.Time) string {
	s := fmt.Sprintf("%s %ss", present.Amount(j.Done), j.Unit)
	if j.Total > 0 {
		s = fmt.Sprintf("%s of %s %ss (%.0f%%)", present.Amount(j.Done), present.Amount(j.Total), j.Unit, 100*j.Done/j.Total)
	}
	if !j.ETA.IsZero() {
		s += fmt.Sprintf(", to end in %s", terminal.Clock(j.ETA.Sub(at)))
	}
	return s
}

func speedLine(j wire.Job) string {
	if j.Seconds <= 0 {
		return ""
	}
	return fmt.Sprintf("%s s per %s (%s)", present.Figure(j.Seconds), j.Unit, j.Source)
}

func priceLine(p wire.Price) string {
	if p.Total <= 0 {
		return ""
	}
	source := "assumed"
	if p.Measured > 0 {
		source = "measured on " + terminal.Plural(p.Measured, "move")
	}
	return fmt.Sprintf("%ss: save %s, drain %s, start %s, load %s (%s)",
		present.Figure(p.Total), present.Figure(p.Save), present.Figure(p.Drain), present.Figure(p.Start), present.Figure(p.Load), source)
}

func checkpointLine(j wire.Job) string {
	var parts []string
	if j.Checkpoint != "" {
		parts = append(parts, "last saved on request "+j.Checkpoint)
	}
	if j.Resumed != "" {
		parts = append(parts, "this run resumed from "+j.Resumed)
	}
	return strings.Join(parts, ", ")
}

func heartbeatLine(j wire.Job, at time.Time) string {
	if j.Ended || j.GPUs == 0 {
		return ""
	}
	s := present.Ago(j.Heartbeat, at)
	switch {
	case j.Deaf > 0:
		s += fmt.Sprintf("; %s in a row without an answer", terminal.Plural(j.Deaf, "request"))
	case !j.Speaks:
		s += "; no checkpoint seen yet"
	}
	return s
}

func runLine(j wire.Job, at time.Time) string {
	if j.Ended || j.Started.IsZero() {
		return ""
	}
	s := fmt.Sprintf("since %s (%s)", present.When(j.Started), terminal.Clock(at.Sub(j.Started)))
	if j.TimeLeft > 0 {
		s += fmt.Sprintf(", time limit in %s", present.Span(j.TimeLeft))
	}
	return s + fmt.Sprintf(", restart %d, incarnation %d", j.Restarts, j.Incarnation)
}
