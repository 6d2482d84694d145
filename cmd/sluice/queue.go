package main

import (
	"cmp"
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// queueOptions are the command line of "sluice queue".
type queueOptions struct {
	present.Filter
	json, noHeader bool
	array          bool
	format, sort   string
}

func newQueueCommand() *cobra.Command {
	var o queueOptions
	var every seconds
	c := &cobra.Command{
		Use:   "queue [WORD]...",
		Short: "List elastic jobs, as squeue lists all",
		Long: `Lists sluice's jobs: their GPUs, the sizes they accept, their progress and speed, and
the reason for their size. It queries sluiced, not Slurm, so it may be run often.

Running jobs are first, then waiting ones in the order in which they would start: by
Slurm's priority with its age part. Jobs that wait for something else than GPUs (held,
--begin, --dependency) are below these, ended ones last. Columns of the default format:

  GPUS    GPUs now / accepted; 2>4/1-8 is being resized from 2 to 4, 2/=2 is pinned
  EPOCH   work done / total; "st" marks steps
  SPEED   seconds per unit of work at this size; "~" marks an estimate
  ETA     time to the end at this size
  REASON  why this size, why now, what it waits for

On a terminal narrower than 110 characters DONE, in percent, replaces EPOCH and SPEED.

WORDs select jobs that contain each of them in name, user, model, account, comment or
reason. Tasks of a job array that wait for the same reason share a line, as
101_[4-15%4].

` + present.Jobs.FormatHelp(),
		Example: `  sluice queue --me
  sluice queue -i 5 -t PD llama
  sluice queue -h -o jobid,gpus,eta
  sluice queue --account phys --sort=-gpus,user -o jobid,user,qos,gpus,reason
  sluice queue -o "%i|%u|%R"
  sluice queue --json | jq '.jobs[].gpus'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Words = args
			if err := o.Check(); err != nil {
				return err
			}
			client, err := daemonFor(cmd)
			if err != nil {
				return err
			}
			// Ended jobs, of which there may be thousands, are left out by sluiced where none is listed.
			ask := client.Present
			if o.Ended() {
				ask = client.Report
			}
			return every.repeat(cmd, func(ctx context.Context) error {
				report, err := ask(ctx)
				if err != nil {
					return err
				}
				warnBlind(cmd.ErrOrStderr(), report.Blind, report.BlindFor, report.At)
				return o.print(cmd.OutOrStdout(), report)
			})
		},
	}
	helpWithoutShorthand(c)
	f := c.Flags()
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.BoolVarP(&o.noHeader, "noheader", "h", false, "print no header")
	f.StringVarP(&o.format, "format", "o", "", "columns: names separated by commas, or letters as squeue's: see above")
	o.Flags(f)
	f.StringVarP(&o.sort, "sort", "S", "", "sort by these fields, names or letters separated by commas; -FIELD: the highest first")
	f.BoolVarP(&o.array, "array", "r", false, "one line for each task of a job array, also for waiting tasks")
	every.flag(c)
	return c
}

// print writes the requested jobs of the report. It overwrites report.Jobs.
func (o queueOptions) print(w io.Writer, report wire.Report) error {
	wanted, err := o.Matcher(report, uint32(os.Getuid()))
	if err != nil {
		return err
	}
	room := terminal.Room(w)
	format := cmp.Or(o.format, present.DefaultFormat)
	if o.format == "" && room > 0 && room < present.Wide {
		format = present.NarrowFormat
	}
	layout, err := present.Jobs.ParseFormat(format)
	if err != nil {
		return err
	}
	listed := report.Jobs[:0]
	for i := range report.Jobs {
		if wanted(&report.Jobs[i]) {
			listed = append(listed, report.Jobs[i])
		}
	}
	report.Jobs = listed
	if err := present.Jobs.Sort(report.Jobs, o.sort); err != nil {
		return err
	}
	if o.json {
		return terminal.WriteJSON(w, report)
	}
	var several map[int64]string // shown instead of a number for several tasks; jobs that -j names have a line each
	if !o.array && len(o.Jobs) == 0 {
		report.Jobs, several = present.Folded(report.Jobs)
	}
	t := layout.Table(report.Jobs, report.At)
	t.NoHeader, t.Room = o.noHeader, room
	for k, at := range report.Jobs {
		if i := layout.Index("jobid"); i >= 0 && several[at.JobID] != "" {
			t.Rows[k][i] = several[at.JobID]
		}
	}
	return t.Write(w)
}
