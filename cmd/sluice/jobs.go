package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/sbatch"
	"github.com/sluice-hpc/sluice/slurm"
)

// jobWord is one job, or some tasks of a job array, as written by a user. A number is
// always the job that Slurm knows by it, even if it is also an array's number.
type jobWord struct {
	text  string
	id    elastic.JobID // the job, or the array
	tasks *sbatch.Array // the tasks; nil = see all
	all   bool          // every task of the array
}

func (w jobWord) many() bool { return w.all || w.tasks != nil }

// jobWords parses 101, 101-103, 101_3, 101_[1-3,7], 101_* and lists of these separated by
// commas, or by colons as 'sluice submit --parsable' prints them.
func jobWords(args []string) (out []jobWord, err error) {
	for _, arg := range args {
		for _, word := range apart(arg) {
			id, rest, array := strings.Cut(word, "_")
			first, last, several := strings.Cut(id, "-")
			from, err := strconv.ParseInt(first, 10, 64)
			to := from
			if err == nil && several {
				to, err = strconv.ParseInt(last, 10, 64)
			}
			w := jobWord{text: word, all: array && rest == "*"}
			switch {
			case strings.Contains(word, "+") && first != "" && first[0] >= '0' && first[0] <= '9':
				return nil, fmt.Errorf("%s: heterogeneous jobs are not elastic; use Slurm's own commands", terminal.Escape(word))
			case err != nil || from < 1 || to < from || to-from >= maxRange || several && array:
				return nil, fmt.Errorf("invalid job id %q", word)
			case array && !w.all:
				tasks, err := sbatch.ParseArray(rest)
				if err != nil || tasks.Limit > 0 {
					return nil, fmt.Errorf("invalid job id %q: want tasks of an array such as %d_3, %d_[1-3,7] or %d_*", word, from, from, from)
				}
				w.tasks = &tasks
			}
			for n := from; n <= to; n++ {
				w.id = elastic.JobID(n)
				out = append(out, w)
			}
		}
	}
	return out, nil
}

// maxRange bounds ranges such as 101-5000.
const maxRange = 100_000

// apart splits a list at its commas and colons outside brackets.
func apart(list string) (words []string) {
	from, inside := 0, false
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case c == '[':
			inside = true
		case c == ']':
			inside = false
		case (c == ',' || c == ':') && !inside:
			words, from = append(words, list[from:i]), i+1
		}
	}
	return append(words, list[from:])
}

// arrayTask is a job that is part of an array.
type arrayTask struct {
	job   elastic.JobID
	uid   uint32
	array elastic.JobID
	index int
	ended bool
}

// reported are the tasks of arrays that sluiced reports.
func reported(report wire.Report) (out []arrayTask) {
	for _, j := range report.Jobs {
		if a := j.Array; a != nil {
			out = append(out, arrayTask{elastic.JobID(j.JobID), j.UID, elastic.JobID(a.JobID), a.Index, j.Ended})
		}
	}
	return out
}

// tagged are those that Slurm lists.
func tagged(jobs []slurm.Job) (out []arrayTask) {
	for _, j := range jobs {
		if tag, err := elastic.ParseTag(j.Comment); err == nil && tag.Spec.Array.Is() {
			a := tag.Spec.Array
			out = append(out, arrayTask{elastic.JobID(j.ID), j.UID, a.Of(elastic.JobID(j.ID)), a.Index, j.State.Ended()})
		}
	}
	return out
}

// expand replaces words that name tasks of arrays by their jobs; if all tasks are meant,
// by those that have not ended.
func expand(words []jobWord, known []arrayTask) (out []elastic.JobID, err error) {
	for _, w := range words {
		if !w.many() {
			out = append(out, w.id)
			continue
		}
		owner, found := arrayOwner(known, w.id), 0
		for _, t := range known {
			if t.array == w.id && t.uid == owner && (w.tasks == nil && !t.ended || w.tasks != nil && slices.Contains(w.tasks.Tasks, t.index)) {
				out, found = append(out, t.job), found+1
			}
		}
		if found == 0 {
			return nil, fmt.Errorf("%s: no such task of a sluice array; 'sluice queue --array' lists them", terminal.Escape(w.text))
		}
	}
	return out, nil
}

// arrayOwner is the user whose jobs form an array: the user of its first job, or the
// caller. Comments can be written by any user.
func arrayOwner(known []arrayTask, array elastic.JobID) uint32 {
	for _, t := range known {
		if t.job == array && t.array == array {
			return t.uid
		}
	}
	return uint32(os.Getuid())
}

// jobsNamed returns the jobs that the words name; report is called only if there are
// arrays among them.
func jobsNamed(ctx context.Context, args []string, report func(context.Context) (wire.Report, error)) ([]elastic.JobID, error) {
	words, err := jobWords(args)
	if err != nil || !slices.ContainsFunc(words, jobWord.many) {
		ids, _ := expand(words, nil)
		return ids, err
	}
	r, err := report(ctx)
	if err != nil {
		return nil, err
	}
	return expand(words, reported(r))
}

// jobNamed is jobsNamed for a single job.
func jobNamed(ctx context.Context, arg string, report func(context.Context) (wire.Report, error)) (elastic.JobID, error) {
	jobs, err := jobsNamed(ctx, []string{arg}, report)
	if err == nil && len(jobs) != 1 {
		err = fmt.Errorf("%s: %d jobs; name one of them", terminal.Escape(arg), len(jobs))
	}
	if err != nil {
		return 0, err
	}
	return jobs[0], nil
}

// reportFor queries the daemon of the site in force.
func reportFor(cmd *cobra.Command) func(context.Context) (wire.Report, error) {
	return func(ctx context.Context) (wire.Report, error) {
		client, err := daemonFor(cmd)
		if err != nil {
			return wire.Report{}, err
		}
		return client.Report(ctx)
	}
}
