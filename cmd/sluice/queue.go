package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// queueOptions are the command line of "sluice queue".
type queueOptions struct {
	json, noHeader, me, all bool
	array                   bool
	format                  string
	users, jobs             []string
	partitions, states      []string
	accounts, qos           []string
	sort                    string
}

func newQueueCommand() *cobra.Command {
	var o queueOptions
	c := &cobra.Command{
		Use:   "queue",
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

Tasks of a job array that wait for the same reason share a line, as 101_[4-15%4].

` + formatHelp(),
		Example: `  sluice queue --me
  sluice queue -h -o jobid,gpus,eta
  sluice queue --account phys --sort=-gpus,user -o jobid,user,qos,gpus,reason
  sluice queue -o "%i|%u|%R"
  sluice queue --json | jq '.jobs[].gpus'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := daemonFor(cmd)
			if err != nil {
				return err
			}
			// Ended jobs, of which there may be thousands, are left out by sluiced where none is listed.
			ask := client.Present
			if o.ended() {
				ask = client.Report
			}
			report, err := ask(cmd.Context())
			if err != nil {
				return err
			}
			warnBlind(cmd.ErrOrStderr(), report.Blind, report.BlindFor, report.At)
			return o.print(cmd.OutOrStdout(), report)
		},
	}
	helpWithoutShorthand(c)
	f := c.Flags()
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.BoolVarP(&o.noHeader, "noheader", "h", false, "print no header")
	f.StringVarP(&o.format, "format", "o", "", "columns: names separated by commas, or letters as squeue's: see above")
	f.StringSliceVarP(&o.users, "users", "u", nil, "only jobs of these users, names or numbers")
	f.BoolVar(&o.me, "me", false, "only your own jobs")
	f.StringArrayVarP(&o.jobs, "jobs", "j", nil, "only these jobs, ended ones too")
	f.StringSliceVarP(&o.partitions, "partition", "p", nil, "only jobs of these partitions")
	f.StringSliceVarP(&o.accounts, "account", "A", nil, "only jobs of these Slurm accounts")
	f.StringSliceVarP(&o.qos, "qos", "q", nil, "only jobs of these QOS")
	f.StringSliceVarP(&o.states, "states", "t", nil, "only jobs in these states, such as R or PENDING; 'all' for ended ones too")
	f.BoolVarP(&o.all, "all", "a", false, "ended jobs too")
	f.StringVarP(&o.sort, "sort", "S", "", "sort by these fields, names or letters separated by commas; -FIELD: the highest first")
	f.BoolVarP(&o.array, "array", "r", false, "one line for each task of a job array, also for waiting tasks")
	return c
}

// print writes the requested jobs of the report. It overwrites report.Jobs.
func (o queueOptions) print(w io.Writer, report wire.Report) error {
	wanted, err := o.filter(report)
	if err != nil {
		return err
	}
	format, err := parseFormat(o.format)
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
	if err := sorted(report.Jobs, o.sort); err != nil {
		return err
	}
	if o.json {
		return terminal.WriteJSON(w, report)
	}
	var several map[int64]string // shown instead of a number for several tasks; jobs that -j names have a line each
	if !o.array && len(o.jobs) == 0 {
		report.Jobs, several = folded(report.Jobs)
	}
	t := terminal.Table{NoHeader: o.noHeader, Room: terminal.Room(w), Between: format.between}
	for _, f := range format.fields {
		t.Columns = append(t.Columns, f.Column)
	}
	for k := range report.Jobs {
		j, cells := &report.Jobs[k], make([]string, len(format.fields))
		for i, f := range format.fields {
			cells[i] = f.cell(j, report.At)
			if tasks := several[j.JobID]; tasks != "" && f.name == "jobid" {
				cells[i] = tasks
			}
		}
		t.Add(cells...)
	}
	return t.Write(w)
}

// ended reports whether ended jobs may be listed, too.
func (o queueOptions) ended() bool { return o.all || len(o.jobs) > 0 || len(o.states) > 0 }

// filter combines all filters.
func (o queueOptions) filter(report wire.Report) (func(*wire.Job) bool, error) {
	words, err := jobWords(o.jobs)
	if err != nil {
		return nil, err
	}
	ids, err := expand(words, reported(report))
	if err != nil {
		return nil, err
	}
	users := o.users
	if o.me {
		users = append(slices.Clone(users), strconv.Itoa(os.Getuid()))
	}
	anyState := slices.ContainsFunc(o.states, func(s string) bool { return strings.EqualFold(s, "all") })
	if err := knownStates(o.states); err != nil {
		return nil, err
	}
	return func(j *wire.Job) bool {
		return (o.ended() || !j.Ended) &&
			(len(ids) == 0 || slices.Contains(ids, elastic.JobID(j.JobID))) &&
			(len(users) == 0 || slices.Contains(users, j.User) || slices.Contains(users, fmt.Sprint(j.UID))) &&
			(len(o.accounts) == 0 || slices.Contains(o.accounts, j.Account)) &&
			(len(o.qos) == 0 || slices.Contains(o.qos, j.QOS)) &&
			(len(o.partitions) == 0 || inPartitions(j, o.partitions)) &&
			(len(o.states) == 0 || anyState || inStates(j, o.states))
	}, nil
}

func inPartitions(j *wire.Job, wanted []string) bool {
	return slices.ContainsFunc(strings.Split(j.Partition, ","), func(p string) bool { return slices.Contains(wanted, p) })
}

// states are the compact and full names that -t takes.
var states = map[string]string{
	"PD": "PENDING", "R": "RUNNING", "S": "SUSPENDED", "CG": "COMPLETING", "CD": "COMPLETED", "CA": "CANCELLED", "F": "FAILED",
	"TO": "TIMEOUT", "NF": "NODE_FAIL", "PR": "PREEMPTED", "BF": "BOOT_FAIL", "DL": "DEADLINE", "OOM": "OUT_OF_MEMORY",
	"CF": "CONFIGURING", "RS": "RESIZING", "ALL": "all",
}

func knownStates(wanted []string) error {
	for _, s := range wanted {
		up := strings.ToUpper(s)
		known := states[up] != ""
		for _, full := range states {
			known = known || strings.EqualFold(full, s)
		}
		if !known {
			return fmt.Errorf("invalid job state %q", s)
		}
	}
	return nil
}

func inStates(j *wire.Job, wanted []string) bool {
	word, _, _ := strings.Cut(j.State, " ") // "CANCELLED by 1000"
	return slices.ContainsFunc(wanted, func(s string) bool {
		return strings.EqualFold(s, j.ST) || strings.EqualFold(s, word) || strings.EqualFold(s, states[j.ST])
	})
}
