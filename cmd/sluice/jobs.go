package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/slurm"
)

func expand(words []present.JobWord, known []present.ArrayTask) ([]elastic.JobID, error) {
	return present.Expand(words, known, uint32(os.Getuid()))
}

func arrayOwner(known []present.ArrayTask, array elastic.JobID) uint32 {
	return present.ArrayOwner(known, array, uint32(os.Getuid()))
}

// tagged are those that Slurm lists.
func tagged(jobs []slurm.Job) (out []present.ArrayTask) {
	for _, j := range jobs {
		if tag, err := elastic.ParseTag(j.Comment); err == nil && tag.Spec.Array.Is() {
			a := tag.Spec.Array
			out = append(out, present.ArrayTask{Job: elastic.JobID(j.ID), UID: j.UID, Array: a.Of(elastic.JobID(j.ID)), Index: a.Index, Ended: j.State.Ended()})
		}
	}
	return out
}

// jobsNamed returns the jobs that the words name; report is called only if there are
// arrays among them.
func jobsNamed(ctx context.Context, args []string, report func(context.Context) (wire.Report, error)) ([]elastic.JobID, error) {
	words, err := present.JobWords(args)
	if err != nil || !slices.ContainsFunc(words, present.JobWord.Many) {
		ids, _ := expand(words, nil)
		return ids, err
	}
	r, err := report(ctx)
	if err != nil {
		return nil, err
	}
	return expand(words, present.Reported(r))
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
