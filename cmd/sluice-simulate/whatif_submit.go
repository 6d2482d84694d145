package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/reach"
	"github.com/sluice-hpc/sluice/cmd/sweepfile"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/sbatch"
)

// longestTrial bounds --trial-time.
const longestTrial = 30 * 24 * time.Hour

// checkSubmit refuses what cannot be asked before anything is read.
func (o *whatifOptions) checkSubmit() error {
	switch {
	case o.sacct != "":
		return errors.New("--sacct replays a history, --submit asks sluiced about the present queue: leave one out")
	case o.trialTime <= 0 || o.trialTime > longestTrial:
		return fmt.Errorf("--trial-time %v: say how long one trial takes in a lane, on average, such as --trial-time 5m; trials that lose early count too", o.trialTime)
	}
	return nil
}

// whatifSubmit asks sluiced what a sweep would get that were submitted now, and what that does to others.
// Nothing is submitted.
func (o *whatifOptions) whatifSubmit(cmd *cobra.Command) error {
	if err := o.checkSubmit(); err != nil {
		return err
	}
	sub, err := o.submission(os.Environ(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	site, err := reach.Site(cmd)
	if err != nil {
		return err
	}
	daemon, err := reach.Dial(site)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(cmd.Context(), time.Minute)
	defer stop()
	answer, err := daemon.WhatIf(ctx, wire.WhatIf{Submit: &sub})
	if err != nil {
		return err
	}
	if o.asJSON {
		return terminal.WriteJSON(cmd.OutOrStdout(), answer)
	}
	return writeSubmission(cmd.OutOrStdout(), sub, answer)
}

// submission reads the script, or the sweep's file, as sluice submit does.
func (o *whatifOptions) submission(environ []string, errs io.Writer) (wire.Submission, error) {
	file, err := os.Open(o.submit)
	if err != nil {
		return wire.Submission{}, fmt.Errorf("--submit: %w", err)
	}
	defer file.Close()
	body, err := sweepfile.ReadScript(file, o.submit)
	if err != nil {
		return wire.Submission{}, fmt.Errorf("--submit: %w", err)
	}
	line, err := sbatch.ParseCommandLine([]string{o.submit})
	if err != nil {
		return wire.Submission{}, err
	}
	script, _, wrong := sweepfile.Parse(o.submit, body, nil)
	r, contradictions := sbatch.Merge(line, environ, script)
	if err := errors.Join(wrong, contradictions); err != nil {
		return wire.Submission{}, err
	}
	for _, text := range r.Warnings {
		terminal.Warn(errs, text)
	}
	if r.Sweep == nil {
		return wire.Submission{}, fmt.Errorf("%s is no sweep: it has no --sweep; what jobs get is in 'sluice plan' and 'sluice explain' once they are submitted", o.submit)
	}
	if r.Sweep.OwnJobs {
		return wire.Submission{}, fmt.Errorf("%s has --trial=job: how long such a trial takes depends on the GPUs that it will be given; leave the option out to ask what its lanes would get", o.submit)
	}
	out := wire.Submission{Name: r.SweepName(), MinGPUs: r.Spec.Min, MaxGPUs: max(r.Spec.Max, r.Spec.Min), Lanes: r.Sweep.Parallel, Trials: r.Sweep.Trials, Seconds: o.trialTime.Seconds()}
	if len(r.Partitions) == 1 {
		out.Partition = r.Partitions[0]
	}
	return out, out.Validate()
}

// writeSubmission says what the sweep would get, and which jobs would end at another time.
func writeSubmission(w io.Writer, sub wire.Submission, a wire.WhatIfAnswer) error {
	p := &printer{w: w}
	p.say("If %s were submitted now: %s of %s in at most %s. Nothing was submitted.", terminal.Escape(sub.Name),
		terminal.Plural(sub.Trials, "trial"), terminal.Clock(time.Duration(sub.Seconds*float64(time.Second))), terminal.Plural(sub.Lanes, "lane"))
	var starts []time.Time
	var last wire.Expected // of the lanes that start, the one that ends last
	for _, l := range a.Added {
		if l.Starts.IsZero() {
			continue
		}
		starts = append(starts, l.Starts)
		if l.Ends.After(last.Ends) {
			last = l
		}
	}
	slices.SortFunc(starts, time.Time.Compare)
	if len(starts) == 0 {
		p.say("No lane of it is expected to start; sluice plan says what waits for what.")
	} else {
		p.say("first lane  %s", after(a.At, starts[0]))
		p.say("lanes       %d of %d are expected to get GPUs, the last %s", len(starts), len(a.Added), after(a.At, starts[len(starts)-1]))
		if last.Ends.IsZero() {
			p.say("over        not known: the forecast ends before")
		} else {
			p.say("over        %s, from %s to %s; sooner at its goal", after(a.At, last.Ends), terminal.Clock(last.Low.Sub(a.At)), terminal.Clock(last.High.Sub(a.At)))
		}
	}
	others := slices.DeleteFunc(slices.Clone(a.Jobs), func(d wire.Difference) bool {
		return d.Later == nil || time.Duration(*d.Later*float64(time.Second)).Abs() < time.Minute
	})
	if len(others) == 0 {
		p.say("No other job is expected to end a minute earlier or later.")
		return p.err
	}
	p.say("Other jobs, by policy %s:", terminal.Escape(a.Policy))
	t := terminal.Table{Room: terminal.Room(w), Columns: []terminal.Column{terminal.Right("JOBID"), terminal.Left("NAME"), terminal.Left("USER"), terminal.Right("ENDS IN"), terminal.Right("LATER")}}
	for _, d := range others {
		later := time.Duration(*d.Later * float64(time.Second))
		sign := "+"
		if later < 0 {
			sign = "-"
		}
		t.Add(fmt.Sprint(d.JobID), d.Name, d.User, terminal.Clock(d.After.Ends.Sub(a.At)), sign+terminal.Clock(later.Abs()))
	}
	if p.err == nil {
		p.err = t.Write(w)
	}
	return p.err
}

// after is a time as the time until then.
func after(now, t time.Time) string {
	if t.Sub(now) < time.Second {
		return "at once"
	}
	return "in " + terminal.Clock(t.Sub(now))
}

// printer writes lines until one cannot be written.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) say(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}
