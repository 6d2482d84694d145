package conform

import (
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

var resizes = []promise{
	{"a job grows on its node", 1, func(c *check) {
		id := c.running(long, 1)
		d := c.resize(id, slurm.Update{Nodes: c.nodes, GPUsPerNode: 3})
		c.splitIs(d, 3)
		if j := c.listed(id); j.ID != id || j.GPUs != 3 || j.Restarts != 1 || j.Held {
			c.Errorf("listed: %+v", j)
		}
	}},
	{"a job shrinks on its node", 1, func(c *check) {
		c.splitIs(c.resize(c.running(long, 4), slurm.Update{Nodes: c.nodes, GPUsPerNode: 1}), 1)
	}},
	{"a job moves to another node", 2, func(c *check) {
		d := c.resize(c.running(long, 2), slurm.Update{Nodes: c.nodes[1:], GPUsPerNode: 2})
		if fmt.Sprint(d.Nodes) != fmt.Sprint(c.nodes[1:]) {
			c.Errorf("runs on %v", d.Nodes)
		}
	}},
	{"a job grows onto a second node and shrinks back", 2, func(c *check) {
		id := c.running(long, 2)
		c.splitIs(c.resize(id, slurm.Update{Nodes: c.nodes, GPUsPerNode: 3}), 3, 3)
		c.splitIs(c.resize(id, slurm.Update{Nodes: c.nodes[1:], GPUsPerNode: 2}), 2)
	}},
	{"evenly, unevenly and evenly again", 2, func(c *check) {
		id := c.running(long, 1)
		c.splitIs(c.resize(id, slurm.Update{Nodes: c.nodes, GPUsTotal: 5}), 4, 1)
		c.splitIs(c.resize(id, slurm.Update{Nodes: c.nodes, GPUsPerNode: 2}), 2, 2)
		c.splitIs(c.resize(id, slurm.Update{Nodes: c.nodes[:1], GPUsTotal: 3}), 3)
	}},
	{"an operator resizes a job of another user", 2, func(c *check) {
		id := c.running(long, 1)
		c.splitIs(c.resizeBy(c.Operator, id, slurm.Update{Nodes: c.nodes, GPUsPerNode: 4}), 4, 4)
	}},
	{"CPUs that go with the GPUs", 2, func(c *check) {
		id := c.running(long, 1, "--cpus-per-gpu=2")
		c.splitIs(c.resize(id, slurm.Update{Nodes: c.nodes, GPUsTotal: 5, CPUs: 10}), 4, 1)
		c.splitIs(c.resize(id, slurm.Update{Nodes: c.nodes[:1], GPUsPerNode: 2, CPUs: 4}), 2)
	}},
	{"Slurm chooses the nodes when it may", all, func(c *check) {
		id := c.held(1, "--nodelist="+c.nodes[1])
		c.must(c.Owner.Update(c.ctx, id, slurm.Update{AnyNodes: true, NodeCount: 2, GPUsPerNode: 2, CPUs: 2, StartAfter: time.Second}))
		if d := c.job(id); len(d.ReqNodes) != 0 || d.NodeCount != 2 || d.GPUs != 4 {
			c.Errorf("after the update: %s", text(d))
		}
		c.must(c.Owner.Release(c.ctx, id))
		c.splitIs(c.runs(id), 2, 2)
	}},
	{"Slurm prefers the nodes with most free GPUs", all, func(c *check) {
		c.running(long, 1, "--nodelist="+c.nodes[0])
		id := c.submit(long, "--nodes=2", "--ntasks=2", "--gpus=6")
		d := c.runs(id)
		c.splitIs(d, 4, 2)
		if d.Nodes[0] == c.nodes[0] {
			c.Errorf("runs on %v", d.Nodes)
		}
	}},
	{"an update may be repeated", 2, func(c *check) {
		id := c.held(1)
		u := slurm.Update{Nodes: c.nodes, GPUsTotal: 5, CPUs: 2, StartAfter: time.Second}
		c.must(c.Owner.Update(c.ctx, id, u))
		c.must(c.Owner.Update(c.ctx, id, u))
		if d := c.job(id); d.GPUs != 5 || d.NodeCount != 2 || fmt.Sprint(d.ReqNodes) != fmt.Sprint(c.nodes) {
			c.Errorf("after both: %s", text(d))
		}
		c.must(c.Owner.Release(c.ctx, id))
		c.splitIs(c.runs(id), 4, 1)
	}},
}

// Split is a total number of GPUs requested of a set of nodes, and the GPUs per node that
// Slurm gives.
type Split struct {
	Busy  []int // GPUs already in use, node by node
	Total int
	Want  []int
}

// Splits is how Slurm fills nodes of four GPUs: greedily in node order, at least
// one on each. The planner must predict the same.
var Splits = []Split{
	{[]int{0, 0}, 2, []int{1, 1}},
	{[]int{0, 0}, 4, []int{3, 1}},
	{[]int{0, 0}, 5, []int{4, 1}},
	{[]int{0, 0}, 6, []int{4, 2}},
	{[]int{0, 0}, 8, []int{4, 4}},
	{[]int{1, 0}, 4, []int{3, 1}},
	{[]int{1, 0}, 5, []int{3, 2}},
	{[]int{0, 2}, 6, []int{4, 2}},
	{[]int{0, 0, 0}, 7, []int{4, 2, 1}},
	{[]int{2, 1, 0}, 8, []int{2, 3, 3}},
}

func splits() (out []promise) {
	for _, s := range Splits {
		out = append(out, promise{fmt.Sprintf("%d GPUs over %v busy are %v", s.Total, s.Busy, s.Want), len(s.Busy), func(c *check) {
			for i, busy := range s.Busy {
				if busy > 0 {
					c.running(long, busy, "--nodelist="+c.nodes[i])
				}
			}
			id := c.held(1)
			c.must(c.Owner.Update(c.ctx, id, slurm.Update{Nodes: c.nodes, GPUsTotal: s.Total, CPUs: len(c.nodes), StartAfter: time.Second}))
			c.must(c.Owner.Release(c.ctx, id))
			c.splitIs(c.runs(id), s.Want...)
		}})
	}
	return out
}
