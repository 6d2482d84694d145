package conform

import (
	"context"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/slurm"
)

// pools are the promises about jobs of several partitions. sluice moves such a job from
// one partition to another by the nodes that it writes (elastic.Decision.Within).
var pools = []promise{
	{"a job of two partitions goes where its nodes are", 2, func(c *check) {
		first, second := c.partitionOf(c.nodes[:1], ""), c.partitionOf(c.nodes[1:], "")
		both := first.name + "," + second.name
		id := c.written(slurm.Update{Nodes: c.nodes[1:], GPUsPerNode: 1, CPUs: 1}, "--partition="+both)
		c.in(id, both)
		c.splitIs(c.runs(id), 1)
		c.in(id, second.name)
		for _, to := range []struct {
			partition
			nodes []string
			gpus  int
		}{{first, c.nodes[:1], 3}, {second, c.nodes[1:], 2}} {
			c.must(c.Operator.RequeueHold(c.ctx, id))
			c.pends(id)
			c.in(id, both)
			c.write(id, slurm.Update{Nodes: to.nodes, GPUsPerNode: to.gpus, CPUs: 1})
			c.splitIs(c.runs(id), to.gpus)
			c.in(id, to.name)
		}
	}},
	{"a job on nodes of two partitions does not start", 2, func(c *check) {
		first, second := c.partitionOf(c.nodes[:1], ""), c.partitionOf(c.nodes[1:], "")
		id := c.written(slurm.Update{Nodes: c.nodes, GPUsPerNode: 1, CPUs: 2}, "--partition="+first.name+","+second.name)
		c.stays(id, "pending", isPending)
	}},
	{"a job whose one partition is closed starts in the other", 2, func(c *check) {
		first, second := c.partitionOf(c.nodes[:1], ""), c.partitionOf(c.nodes[1:], "")
		id := c.running(long, 1, "--partition="+first.name+","+second.name, "--nodelist="+c.nodes[0])
		first.set("State=DOWN")
		c.stays(id, "running", isRunning)
		c.must(c.Operator.RequeueHold(c.ctx, id))
		c.pends(id)
		c.write(id, slurm.Update{Nodes: c.nodes[1:], GPUsPerNode: 2, CPUs: 1})
		c.splitIs(c.runs(id), 2)
		c.in(id, second.name)
	}},
}

// in checks which partitions the job is reported to be in, in any order: after a run
// Slurm lists the partition of that run first.
func (c *check) in(id slurm.JobID, want string) {
	c.Helper()
	for from, j := range map[string]slurm.Job{"list": c.listed(id), "job": c.job(id).Job} {
		got := strings.Split(j.Partition, ",")
		slices.Sort(got)
		if strings.Join(got, ",") != want {
			c.Errorf("%s: in partition %q, %s, want %q", from, j.Partition, j.State, want)
		}
	}
}

// partitionOf makes a partition of some nodes.
func (c *check) partitionOf(nodes []string, settings string) partition {
	c.Helper()
	p := partition{c, c.name("p") + strings.ToLower(nodes[0])}
	c.must(c.Partition(c.ctx, p.name, nodes, settings))
	c.made = append(c.made, func(ctx context.Context) error { return c.SetPartition(ctx, p.name, "State=DOWN") })
	return p
}
