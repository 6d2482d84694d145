package conform

import (
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// gangs are the promises about heterogeneous jobs, whose parts start together or not at
// all; for subjects that have them. sluice refuses such jobs so far; an elastic
// heterogeneous job would rely on these promises. Each part has its own id, in ascending
// order. A change of the first part's id changes all parts, so the part that is resized
// would have to be a later one.
var gangs = []promise{
	{"the parts of a heterogeneous job are held, sized, stopped and started together", 3, func(c *check) {
		lead, part := c.gang(c.nodes[0], c.nodes[1])
		c.must(c.Owner.Update(c.ctx, part, slurm.Update{Nodes: c.nodes[1:], GPUsPerNode: 2, CPUs: 2, StartAfter: time.Second}))
		c.must(c.Owner.Update(c.ctx, lead, slurm.Update{StartAfter: time.Second}))
		c.must(c.Owner.Release(c.ctx, lead))
		c.runs(lead)
		c.splitIs(c.runs(part), 2, 2)
		c.fails("requeuehold of a later part", c.Owner.RequeueHold(c.ctx, part), slurm.ErrRefused)
		c.must(c.Owner.RequeueHold(c.ctx, lead))
		for _, id := range []slurm.JobID{lead, part} {
			if d := c.pends(id); !d.Held || d.Restarts != 1 || !d.Het {
				c.Errorf("%s", text(d))
			}
		}
		// The delay after a requeue is over once it is over for both parts.
		c.must(c.Owner.Update(c.ctx, lead, slurm.Update{StartAfter: time.Second}))
		c.must(c.Owner.Update(c.ctx, part, slurm.Update{Nodes: c.nodes[1:2], GPUsPerNode: 3, CPUs: 1, StartAfter: time.Second}))
		c.must(c.Owner.Release(c.ctx, lead))
		c.splitIs(c.runs(part), 3)
		c.runs(lead)
	}},
	{"no part of a heterogeneous job starts before all can", 2, func(c *check) {
		full := c.running(long, c.GPUs)
		lead, part := c.gang(c.nodes[1], c.nodes[0])
		c.must(c.Owner.Release(c.ctx, lead))
		c.stays(lead, "pending", isPending)
		c.stays(part, "pending", isPending)
		c.must(c.Owner.Cancel(c.ctx, full))
		c.runs(part)
		c.runs(lead)
	}},
	{"the parts of a heterogeneous job share no node", 1, func(c *check) {
		_, _, err := c.Owner.Submit(c.ctx, parts(c.nodes[0], c.nodes[0]))
		c.fails("submit", err, slurm.ErrRefused)
	}},
	{"the nodes of a heterogeneous job's first part cannot be changed", 2, func(c *check) {
		lead, _ := c.gang(c.nodes[0], c.nodes[1])
		c.fails("update", c.Owner.Update(c.ctx, lead, slurm.Update{Nodes: c.nodes[:1], GPUsPerNode: 1, CPUs: 1}), slurm.ErrRefused)
	}},
	{"a comment on a heterogeneous job's first part is one on all", 2, func(c *check) {
		lead, part := c.gang(c.nodes[0], c.nodes[1])
		note := "of all"
		c.must(c.Owner.Update(c.ctx, lead, slurm.Update{Comment: &note}))
		if got := c.job(part).Comment; got != note {
			c.Errorf("the later part's is %q", got)
		}
	}},
}

// gang submits a held job of two parts: one without GPUs on a node, and one with a GPU on
// another.
func (c *check) gang(first, later string) (lead, part slurm.JobID) {
	c.Helper()
	id, _, err := c.Owner.Submit(c.ctx, parts(first, later))
	c.must(err)
	c.jobs = append(c.jobs, id, id+1)
	return id, id + 1
}

func parts(first, later string) slurm.Submission {
	script := fmt.Sprintf("#!/bin/sh\n#SBATCH --nodelist=%s --nodes=1 --ntasks=1\n#SBATCH hetjob\n#SBATCH --hold --requeue --nodelist=%s --nodes=1 --ntasks=1 --gres=gpu:1\nexec sleep 600\n", first, later)
	return slurm.Submission{Args: []string{"--hold", "--requeue", "--output=/dev/null", "--job-name=conform"}, Dir: "/tmp", Stdin: []byte(script)}
}
