package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

func newExplainCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "explain JOB",
		Short:   "Say why a job has its size, why now, and what it waits for",
		Example: "  sluice explain 4711",
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
			e, err := client.Explain(cmd.Context(), job)
			if err != nil {
				return err
			}
			if asJSON {
				return terminal.WriteJSON(cmd.OutOrStdout(), e)
			}
			warnBlind(cmd.ErrOrStderr(), e.Blind, e.BlindFor, e.At)
			return explain(cmd.OutOrStdout(), e)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func explain(w io.Writer, e wire.Explanation) error {
	j := e.Job
	var s sheet
	s.put("Job", "%d (%s) of %s: %s", j.JobID, j.Name, j.User, stateLine(j))
	s.put("Array", "%s", present.ArrayLine(j))
	s.put("Trial", "%s", trialLine(j))
	s.put("GPUs", "%s", gpuLine(j))
	s.put("GPUs busy", "%s", busyLine(j))
	s.put("Why", "%s", j.Reason)
	s.put("Order", "%s", rankLine(e.Rank))
	s.put("Moving", "%s", moveLine(j, e.At))
	s.put("Orders", "%s", orderLine(j))
	s.put("Cannot move", "%s", stuckLine(j))
	s.put("Problems", "%s", strings.Join(j.Problems, "\n"))
	s.put("Last words", "%s", lastWords(j.LastWords))
	s.put("Left out", "%s", leftOutLines(e.LeftOut))
	s.put("Last move", "%s", j.Last)
	s.put("Trained again", "%s", againLine(e.Again, j.Unit))
	if !j.Ended {
		s.put("Work", "%s", workLine(j, e.At))
		s.put("Length", "%s", lengthLine(j))
		s.put("Deadline", "%s", strings.TrimPrefix(deadlineLine(e), "deadline "))
		s.put("Saves", "%s", savesLine(j))
		s.put("Move costs", "%s", priceLine(j.Price))
		s.put("Decided", "%s by policy %s", present.When(e.At), e.Policy)
	}
	measured := slices.ContainsFunc(e.Sizes, func(size wire.Size) bool { return size.Seconds > 0 || size.Relative > 0 })
	if !j.Ended && !measured {
		s.put("Speeds", "not known yet: nothing has been measured")
	}
	if err := s.write(w); err != nil || !measured {
		return err
	}
	fmt.Fprintln(w)
	if err := sizeTable(j, e.Sizes).Write(w); err != nil {
		return err
	}
	if note := sizeNote(j, e); note != "" {
		_, err := fmt.Fprintln(w, note)
		return err
	}
	return nil
}

// rankLine says where a job stands among those that wait, and which part of the priority puts the job
// right before it there; "" if it does not wait.
func rankLine(o *wire.Rank) string {
	if o == nil {
		return ""
	}
	line := fmt.Sprintf("%d of %d that wait, by priority: %s", o.Place, o.Of, priorityParts(o.Priority, o.Age))
	b := o.Before
	if b == nil {
		return line
	}
	who := "the job before it"
	if b.JobID != 0 {
		who = fmt.Sprintf("job %d before it", b.JobID)
	}
	why := "it came first"
	switch {
	case b.Priority-b.Age > o.Priority-o.Age:
		why = "Slurm's own part is higher (fair share, QOS, partition, nice; see sshare, sprio -w)"
	case b.Priority > o.Priority:
		why = "it is older"
	}
	return line + fmt.Sprintf("\n%s has %s: %s", who, priorityParts(b.Priority, b.Age), why)
}

// priorityParts formats "1240 (1200 by Slurm, 40 for its age)".
func priorityParts(all, age int64) string {
	if age == 0 {
		return fmt.Sprint(all)
	}
	return fmt.Sprintf("%d (%d by Slurm, %d for its age)", all, all-age, age)
}

// sizeNote says what the table of sizes leaves out for lack of space.
func sizeNote(j wire.Job, e wire.Explanation) string {
	var notes []string
	if e.Type != "" {
		notes = append(notes, "speeds on "+e.Type)
	}
	k := slices.IndexFunc(e.Sizes, func(s wire.Size) bool { return s.Left > 0 && s.Dead > 0 })
	switch {
	case k >= 0 && j.GPUs == 0:
		notes = append(notes, fmt.Sprintf("TO END incl. %s for its start", present.Span(e.Sizes[k].Dead)))
	case k >= 0:
		notes = append(notes, fmt.Sprintf("TO END at other sizes incl. %s for its resize", present.Span(e.Sizes[k].Dead)))
	}
	return strings.Join(notes, "; ")
}

// lengthLine is the reason for which the job's declared length is not used; "" when it
// is.
func lengthLine(j wire.Job) string {
	switch {
	case j.Overruns:
		return fmt.Sprintf("unknown: it has trained beyond its declared %s %ss", present.Amount(j.Total), j.Unit)
	case j.Stretch > 0:
		return fmt.Sprintf("expected to take %.2gx its declared %ss, as its user's last %s did", j.Stretch, j.Unit, terminal.Plural(j.StretchJobs, "job"))
	}
	return ""
}

// savesLine is how often the job makes a periodic checkpoint; "" when it does not.
func savesLine(j wire.Job) string {
	switch {
	case j.SavesEvery <= 0 || j.GPUs == 0:
		return ""
	case j.SaveCost <= 0:
		return fmt.Sprintf("first after %s; then as often as its cost allows", present.Span(j.SavesEvery))
	}
	return fmt.Sprintf("every %s; a save takes %s s, %.2g %% of the time", present.Span(j.SavesEvery), present.Figure(j.SaveCost), 100*j.SaveCost/(j.SavesEvery+j.SaveCost))
}

// stuckLine is the reason for which the job can never be resized, "" when it can.
func stuckLine(j wire.Job) string {
	switch {
	case j.Ended:
		return ""
	case !j.Quiet.IsZero():
		return "its runner has not reported since  " + present.When(j.Quiet)
	case j.Deaf > 0:
		return fmt.Sprintf("%s in a row were not answered: its program does not save when asked", terminal.Plural(j.Deaf, "checkpoint request"))
	case !j.Speaks && j.GPUs > 0:
		return "no checkpoint seen yet; until then its size does not change"
	case j.MIG:
		return "it runs on MIG slices, whose number sluice does not change"
	case j.Min == j.Max:
		return fmt.Sprintf("it accepts %s only", terminal.Plural(j.Min, "GPU"))
	}
	return ""
}

// sizeTable lists every size that the job accepts; ">" marks the present one.
func sizeTable(j wire.Job, all []wire.Size) *terminal.Table {
	t := &terminal.Table{Columns: []terminal.Column{terminal.Left(""), terminal.Right("GPUS"), terminal.Right("NODES"), terminal.Right("SPEED"),
		terminal.Right("SPEEDUP"), terminal.Right("TO END"), terminal.Left("SOURCE")}}
	first := all[0]
	for _, s := range all {
		mark, speedup, nodes := "", "-", fmt.Sprint(s.Nodes)
		if s.Now {
			mark = ">"
		}
		if s.Nodes == 0 {
			nodes = "-"
		}
		switch {
		case s.Seconds > 0 && first.Seconds > 0:
			speedup = fmt.Sprintf("%.2f", first.Seconds/s.Seconds)
		case s.Relative > 0 && first.Relative > 0:
			speedup = fmt.Sprintf("%.2f", s.Relative/first.Relative)
		}
		t.Add(mark, fmt.Sprint(s.GPUs), nodes, present.Pace(s.Seconds, s.Source, present.Unit(&j)), speedup, present.Span(s.Left), s.Source)
	}
	return t
}

// againLine is the work that moves repeat, in addition to their dead time.
func againLine(a wire.Again, unit string) string {
	if a.Work <= 0 {
		return ""
	}
	took := ""
	if a.Seconds > 0 {
		took = fmt.Sprintf(", %s s of training,", present.Figure(a.Seconds))
	}
	return fmt.Sprintf("%s%s after %s: what was trained between the checkpoint and the stop", present.Amount(a.Work)+" "+unit+"s", took, terminal.Plural(a.Runs, "stop"))
}
