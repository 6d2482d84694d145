package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/reach"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic"
)

func newLogsCommand() *cobra.Command {
	o := logOptions{segment: everything}
	c := &cobra.Command{
		Use:   "logs [--segment N|last] [-n LINES] [-f] [--stderr] JOB",
		Short: "Print a job's output, of all its runs or of one",
		Long: `Prints the file of a job's output. Every run of the job's script begins and ends
there with a line written by sluice:

  == sluice: segment 3 of job 4711 · 4 GPUs on gpu1:4 · resumed from ... ==

--segment 3 prints that run only; its number is RUN in 'sluice history', and "last"
is the newest. -n prints the last lines of the file only. With -f, new output is printed as it is written, across runs, until
the job ends, or the run that --segment names. --stderr prints the file of
--error, for jobs that have one. Control characters in the output of another user's
job are escaped.

The path of the file is the one reported by the job itself, else Slurm's; for a job
that has ended it is available as long as sluice or Slurm remember the job.

Of a job with --data as much is printed as its data's release budget allows: each byte
that is printed first counts against it, also those that --lines leaves out.`,
		Example: "  sluice logs 4711\n  sluice logs -f --segment last 4711",
		Args:    oneJob,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch n := o.lines; {
			case cmd.Flags().Changed("lines") && o.segment != everything:
				return fmt.Errorf("give --lines or --segment, not both")
			case n < 0 || cmd.Flags().Changed("lines") && n == 0:
				return fmt.Errorf("invalid --lines %d: want at least 1", n)
			}
			job, err := jobNamed(cmd.Context(), args[0], reportFor(cmd))
			if err != nil {
				return err
			}
			site, err := reach.Site(cmd)
			if err != nil {
				return err
			}
			known := confinedJobsAt(cmd.Context(), site)
			id, over := known.of(job)
			if id != "" && !over {
				return o.printConfined(cmd, known.vault, job, id)
			}
			source, file, err := o.find(cmd, job)
			if err == nil {
				defer file.Close()
			}
			switch {
			case id != "" && (err != nil || source.foreign()):
				return o.printConfined(cmd, known.vault, job, id)
			case err != nil:
				return known.unlisted(err, job, func(id string) error { return o.printConfined(cmd, known.vault, job, id) })
			}
			return o.print(cmd, job, source, file)
		},
	}
	c.Flags().Var(&o.segment, "segment", "only this run: RUN in 'sluice history', or last")
	c.Flags().IntVarP(&o.lines, "lines", "n", 0, "only the last lines of the file")
	c.Flags().BoolVarP(&o.follow, "follow", "f", false, "go on until the job ends")
	c.Flags().BoolVar(&o.errors, "stderr", false, "the file of the job's errors")
	return c
}

// logOptions are the command line of "sluice logs".
type logOptions struct {
	segment segment
	lines   int // 0 = all
	follow  bool
	errors  bool
}

// segment is a run by its number, or one of the values below.
type segment int

const (
	everything segment = -1
	newest     segment = -2
)

// String is the segment in the option's syntax.
func (s *segment) String() string {
	switch *s {
	case everything:
		return ""
	case newest:
		return "last"
	}
	return strconv.Itoa(int(*s))
}

// Set parses a number or "last".
func (s *segment) Set(text string) error {
	if text == "last" {
		*s = newest
		return nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return fmt.Errorf(`want a number from 0 on, as in the column RUN of 'sluice history', or "last"`)
	}
	*s = segment(n)
	return nil
}

// Type is the name of the value in the help.
func (s *segment) Type() string { return "N|last" }

// find finds the file and opens it.
func (o logOptions) find(cmd *cobra.Command, job elastic.JobID) (*logSource, *os.File, error) {
	source, err := newLogSource(cmd, job)
	if err != nil {
		return nil, nil, err
	}
	file, err := o.open(cmd.Context(), source)
	return source, file, err
}

// print prints the file.
func (o logOptions) print(cmd *cobra.Command, job elastic.JobID, source *logSource, file *os.File) (err error) {
	out := cmd.OutOrStdout()
	if source.foreign() && isTerminal(out) {
		out = &harmless{out: out}
	}
	p := &picker{out: out, job: int64(job), want: int(o.segment)}
	if o.segment == newest {
		if p.want, err = lastSegment(file, int64(job)); err != nil {
			return err
		}
		p.onwards = o.follow
	}
	if o.lines > 0 {
		if err := toLastLines(file, o.lines); err != nil {
			return err
		}
	}
	if err := o.copy(cmd.Context(), p, file, source); err != nil {
		return err
	}
	if err := p.flush(); err != nil {
		return err
	}
	if p.want >= 0 && !p.found {
		return fmt.Errorf("job %d: nothing in %s is of run %d; 'sluice history %d' lists its runs", job, terminal.Escape(file.Name()), p.want, job)
	}
	return nil
}

// How often a followed file and its job are checked.
const (
	lookAtFile = 300 * time.Millisecond
	lookAtJob  = 2 * time.Second
)

// open opens the file; if the job is followed it may not exist yet.
func (o logOptions) open(ctx context.Context, source *logSource) (*os.File, error) {
	for {
		file, err := source.open(ctx, o.errors)
		if err == nil || !o.follow || source.over(ctx) || !source.early(err) {
			return file, err
		}
		if !pause(ctx, lookAtJob) {
			return nil, ctx.Err()
		}
	}
}

// copy copies the file, once or as long as more may be written.
func (o logOptions) copy(ctx context.Context, p *picker, file *os.File, source *logSource) error {
	ended, next := false, time.Now()
	for {
		if err := restart(file); err != nil {
			return err
		}
		n, err := io.Copy(p, file)
		switch {
		case err != nil:
			return err
		case !o.follow || p.past:
			return nil
		case n > 0:
			continue
		case ended:
			return nil // and nothing was written since it ended
		}
		// Asked only at the end of the file, and one more read follows: what the job wrote before
		// its end is printed.
		if !time.Now().Before(next) {
			ended, next = source.over(ctx), time.Now().Add(lookAtJob)
			continue
		}
		if !pause(ctx, lookAtFile) {
			return nil
		}
	}
}

// restart starts again at the beginning of a file that became shorter: it was
// overwritten.
func restart(file *os.File) error {
	at, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && info.Size() < at {
		_, err = file.Seek(0, io.SeekStart)
	}
	return err
}

// pause waits and reports whether to continue.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
