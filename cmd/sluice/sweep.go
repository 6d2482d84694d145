package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/reach"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
	"github.com/sluice-hpc/sluice/etc"
	"github.com/sluice-hpc/sluice/slurm"
)

// sweepCall is one call of "sluice sweep VERB".
type sweepCall struct {
	cmd       *cobra.Command
	site      etc.Config
	json, csv bool
	noHeader  bool
	output    string
	trials    string
	params    []string
	goal      string
	parallel  int
	most      int // of the trials that are listed; 0 = all
	curves    bool
}

// sweepVerbs are the verbs of sluice sweep.
var sweepVerbs = []struct {
	use, short string
	run        func(*sweepCall, *sweepView) error
}{
	{"show", "Show a sweep: its state, its best trials", (*sweepCall).show},
	{"trials", "List the trials of a sweep", (*sweepCall).list},
	{"best", "Print the best trial: parameters, metric, checkpoint", (*sweepCall).best},
	{"explain", "Say why a sweep has the lanes it has, and why trials ended", (*sweepCall).explain},
	{"export", "Print all learning curves, as CSV or --json", (*sweepCall).export},
	{"pause", "Save all trials and give the GPUs back, until 'sluice sweep resume'", (*sweepCall).pause},
	{"resume", "Let a paused sweep go on", (*sweepCall).resume},
	{"stop", "End a sweep: its trials save and end", (*sweepCall).stop},
	{"extend", "Give a sweep more trials or lanes, another goal, other ranges", (*sweepCall).extend},
}

func newSweepCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "sweep VERB [SWEEP]",
		Short: "Show, pause, extend and end sweeps ('sluice submit --sweep')",
		Long: `A sweep is a search for good parameters: one submission, many trials of one script.
Its lanes are ordinary jobs that run trials one after the other. A sweep has the number
of its first lane. Without a number the newest of yours is meant.

All but pause, resume, stop and extend need nothing but your own folders.`,
		Example: `  sluice sweep list
  sluice sweep best 4711
  sluice sweep show 4711 -o sweep.png
  sluice sweep extend 4711 --trials=+100`,
		RunE: func(cmd *cobra.Command, args []string) error { return terminal.OnlyVerbs(cmd, args) },
	}
	c.AddCommand(newSweepListCommand())
	for _, v := range sweepVerbs {
		call := &sweepCall{}
		verb := &cobra.Command{
			Use: v.use + " [SWEEP]", Short: v.short, ValidArgsFunction: completer(ownSweeps).only,
			Args: func(cmd *cobra.Command, args []string) error {
				if len(args) > 1 {
					return fmt.Errorf("one sweep at a time: sluice sweep %s [SWEEP]", v.use)
				}
				return nil
			},
			RunE: func(cmd *cobra.Command, args []string) error {
				view, err := call.open(cmd, args)
				if err != nil {
					return err
				}
				return v.run(call, view)
			},
		}
		call.flags(verb, v.use)
		c.AddCommand(verb)
	}
	return c
}

func (c *sweepCall) flags(cmd *cobra.Command, verb string) {
	f := cmd.Flags()
	switch verb {
	case "show", "trials", "best", "explain", "export":
		f.BoolVar(&c.json, "json", false, "print JSON")
	}
	switch verb {
	case "trials":
		f.BoolVar(&c.csv, "csv", false, "print CSV, for spreadsheets")
		f.IntVar(&c.most, "best", 0, "only so many trials, the best first")
		f.BoolVar(&c.curves, "curves", false, "draw a small learning curve for each trial")
	case "show":
		f.StringVarP(&c.output, "output", "o", "", "draw the curves, and the metric over each parameter, into this file: .png, .svg")
	case "extend":
		f.StringVar(&c.trials, "trials", "", "number of trials: a number, or +N for N more")
		f.StringVar(&c.goal, "goal", "", "the goal: a number, or none")
		f.IntVar(&c.parallel, "parallel", 0, "how many lanes it has at most")
		f.StringArrayVar(&c.params, "param", nil, "the new range of a parameter, such as lr=log:1e-6:1e-2")
	}
}

func newSweepListCommand() *cobra.Command {
	call := &sweepCall{}
	c := &cobra.Command{
		Use: "list", Short: "List your sweeps", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := call.all(cmd)
			if err != nil {
				return err
			}
			return call.table(all)
		},
	}
	helpWithoutShorthand(c)
	c.Flags().BoolVar(&call.json, "json", false, "print JSON")
	c.Flags().BoolVarP(&call.noHeader, "noheader", "h", false, "print no header")
	return c
}

// all reads all sweeps of the user.
func (c *sweepCall) all(cmd *cobra.Command) (all []*sweepView, err error) {
	c.cmd = cmd
	if c.site, err = reach.Site(cmd); err != nil {
		return nil, err
	}
	if all, err = sweepsIn(c.site.Paths.Jobs); err != nil {
		return nil, err
	}
	for _, v := range all {
		if err := v.fill(c.site.Paths.Jobs, c.site.Paths.Outbox, time.Now()); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// open reads the sweep that is meant.
func (c *sweepCall) open(cmd *cobra.Command, args []string) (*sweepView, error) {
	all, err := c.all(cmd)
	if err != nil {
		return nil, err
	}
	return pickSweep(all, strings.Join(args, ""))
}

// save writes a changed sweep; sluiced notices it in its next look.
func (c *sweepCall) save(v *sweepView, change func(*sweep.Sweep) error) error {
	s := v.Sweep
	s.Params = slices.Clone(s.Params)
	if err := change(&s); err != nil {
		return err
	}
	if err := s.Validate(); err != nil {
		return err
	}
	if err := writeSweep(v.Folder, s); err != nil {
		return err
	}
	v.Sweep, v.points = s, nil
	return nil
}

func (c *sweepCall) pause(v *sweepView) error {
	if v.Book.Over != book.NotOver {
		return fmt.Errorf("sweep %d is over (%s)", v.Number, endWords(v))
	}
	if err := c.save(v, func(s *sweep.Sweep) error { s.State = sweep.Paused; return nil }); err != nil {
		return err
	}
	fmt.Fprintf(c.cmd.OutOrStdout(), "sweep %d: paused; its trials save, and go on after 'sluice sweep resume %d'\n", v.Number, v.Number)
	return nil
}

func (c *sweepCall) resume(v *sweepView) error {
	if v.State == sweep.Active {
		return fmt.Errorf("sweep %d is not paused: %s", v.Number, v.Word())
	}
	if err := c.save(v, func(s *sweep.Sweep) error { s.State = sweep.Active; return nil }); err != nil {
		return err
	}
	fmt.Fprintf(c.cmd.OutOrStdout(), "sweep %d: goes on\n", v.Number)
	c.sendLanes(v, false)
	return nil
}

// sendLanes submits lanes for a sweep that goes on. That it goes on is written down already: what fails
// is said, and may be tried again.
func (c *sweepCall) sendLanes(v *sweepView, changed bool) {
	ctx, stop := context.WithTimeout(c.cmd.Context(), 5*time.Minute)
	defer stop()
	made, err := c.moreLanes(ctx, v, changed)
	var code terminal.ExitCode
	switch {
	case errors.As(err, &code):
		terminal.Warn(c.cmd.ErrOrStderr(), fmt.Sprintf("sweep %d: sbatch refused a lane; try again: sluice sweep extend %d --parallel=%d", v.Number, v.Number, v.Parallel))
	case err != nil:
		terminal.Warn(c.cmd.ErrOrStderr(), fmt.Sprintf("sweep %d: no lanes were submitted: %v; try again: sluice sweep extend %d --parallel=%d", v.Number, err, v.Number, v.Parallel))
	case len(made) > 0:
		fmt.Fprintf(c.cmd.OutOrStdout(), "sweep %d: %s submitted (%s)\n", v.Number, terminal.Plural(len(made), "lane"), ranges(ids(made)))
	}
}

// stop ends the sweep. Lanes that run end by themselves once their trials have saved; those that
// wait are cancelled.
func (c *sweepCall) stop(v *sweepView) error {
	if err := c.save(v, func(s *sweep.Sweep) error { s.State = sweep.Stopped; return nil }); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(c.cmd.Context(), time.Minute)
	defer stop()
	cancelled, err := c.cancelWaiting(ctx, v)
	if err != nil {
		terminal.Warn(c.cmd.ErrOrStderr(), fmt.Sprintf("sweep %d: its waiting lanes could not be cancelled: %v; sluiced cancels them within seconds", v.Number, err))
	}
	fmt.Fprintf(c.cmd.OutOrStdout(), "sweep %d: stopped; %s cancelled, the others end once their trials have saved\n", v.Number, terminal.Plural(cancelled, "waiting lane"))
	return nil
}

// cancelWaiting cancels the lanes that wait in Slurm.
func (c *sweepCall) cancelWaiting(ctx context.Context, v *sweepView) (n int, err error) {
	client, jobs, err := c.laneJobs(ctx, v)
	if err != nil {
		return 0, err
	}
	for _, j := range jobs {
		if j.State != slurm.Pending {
			continue
		}
		if failed := client.Cancel(ctx, j.ID); failed != nil && !errors.Is(failed, slurm.ErrNotFound) {
			err = failed
			continue
		}
		n++
	}
	return n, err
}

// owns reports whether a job is a lane of this sweep, by what Slurm says: its user, and the tag that
// was written when it was submitted. Files, and the user's own part of a comment, count nothing.
func (v *sweepView) owns(j slurm.Job) bool {
	tag, err := elastic.ParseTag(j.Comment)
	return err == nil && tag.Spec.Sweep == v.Token && j.UID == uint32(os.Geteuid())
}

// extend changes what is searched. Trials that were begun keep their parameters.
func (c *sweepCall) extend(v *sweepView) error {
	if c.trials == "" && c.goal == "" && len(c.params) == 0 && !c.cmd.Flags().Changed("parallel") {
		return errors.New("what is to change? give --trials, --goal, --parallel or --param; see 'sluice sweep extend --help'")
	}
	if v.State == sweep.Stopped {
		return fmt.Errorf("sweep %d was stopped by its user; first let it go on: sluice sweep resume %d", v.Number, v.Number)
	}
	err := c.save(v, func(s *sweep.Sweep) error {
		if err := c.more(v, s); err != nil {
			return err
		}
		if err := extendSpace(s, c.params); err != nil {
			return err
		}
		return v.usable(*s)
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(c.cmd.OutOrStdout(), "sweep %d: extended\n", v.Number)
	c.sendLanes(v, len(c.params) > 0)
	if v.Book.Over != book.NotOver {
		terminal.Warn(c.cmd.ErrOrStderr(), fmt.Sprintf("sweep %d stays over all the same: %s; submit a new sweep to try more", v.Number, endWords(v)))
	}
	return nil
}
