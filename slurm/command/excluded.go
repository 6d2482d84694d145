package command

import (
	"context"

	"github.com/sluice-hpc/sluice/slurm"
)

// excludedFormat is the argument of squeue -o that prints a job's id and the nodes that
// it excludes. Before 24.11 no field of -O prints these, but the bulk query needs -O, and
// one call takes either -O or -o. Both fields are written by Slurm, not by users, so they
// cannot be forged.
func excludedFormat(d delimiter) string {
	return "%i" + d.field + "%x" + d.record[:len(d.record)-1]
}

// excluded asks which nodes the pending and running jobs exclude.
func (c *Client) excluded(ctx context.Context) (list map[slurm.JobID][]string, err error) {
	d := newDelimiter()
	err = c.limitsFrom(ctx, "squeue", []string{"-h", "-a", "-o", excludedFormat(d)},
		func(out string) (err error) { list, err = parseExcluded(out, d); return })
	return list, err
}

// parseExcluded reads the answer; a job that excludes no node is not listed. The members
// of an array have no id of their own there; sluice does not manage array jobs.
func parseExcluded(out string, d delimiter) (map[slurm.JobID][]string, error) {
	list, words := map[slurm.JobID][]string{}, pool{}
	var broken error
	_, err := d.split(out, 2, func(r []string) {
		id, err := jobID(r[0])
		if err != nil || empty(r[1]) {
			return
		}
		nodes, err := slurm.Expand(r[1])
		if err != nil {
			broken = err
			return
		}
		words.list(nodes)
		list[id] = nodes
	})
	if err == nil {
		err = broken
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}
