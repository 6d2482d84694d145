package conform

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// machines are the promises about nodes, healthy and failed.
var machines = []promise{
	{"nodes are listed with what is used", 1, func(c *check) {
		c.running(long, 3)
		nodes, err := c.Owner.Nodes(c.ctx)
		c.must(err)
		if len(nodes) != len(c.Nodes) {
			c.Fatalf("%d nodes listed, there are %d", len(nodes), len(c.Nodes))
		}
		for i, n := range nodes {
			if n.Name != c.Nodes[i] || n.GPUs != c.GPUs || n.CPUs < 1 || n.MemoryMB < 1 || len(n.Partitions) == 0 || len(n.States) == 0 {
				c.Errorf("%+v", n)
			}
		}
		if n := c.node(c.nodes[0]); n.GPUsUsed != 3 || n.CPUsUsed != 1 || !n.Is("MIXED") {
			c.Errorf("%+v", n)
		}
	}},
	{"a drained node keeps its job and takes no other", 1, func(c *check) {
		id := c.running(long, 2)
		c.must(c.Drain(c.ctx, c.nodes[0]))
		defer c.giveBack(c.nodes[0])
		if ok, why := c.node(c.nodes[0]).Usable(); ok || why == "" {
			c.Errorf("usable=%t why=%q", ok, why)
		}
		next := c.submit(long, "--gres=gpu:1")
		c.stays(next, "pending", isPending)
		if d := c.job(id); !isRunning(d) {
			c.Errorf("the first: %s", text(d))
		}
		// It cannot be assigned to that node again either.
		c.must(c.Owner.RequeueHold(c.ctx, id))
		c.pends(id)
		c.must(c.Owner.Update(c.ctx, id, slurm.Update{StartAfter: time.Second}))
		c.must(c.Owner.Release(c.ctx, id))
		c.stays(id, "pending", isPending)
		c.giveBack(c.nodes[0])
		c.runs(next)
	}},
	{"jobs of a failed node are requeued, or end", 2, func(c *check) {
		again := c.running(long, 2)
		never := c.running(long, 1, "--no-requeue")
		c.must(c.NodeDown(c.ctx, c.nodes[0]))
		defer c.giveBack(c.nodes[0])
		d := c.pends(again)
		if d.Held || d.Restarts != 1 || len(d.Nodes) != 0 {
			c.Errorf("requeued: %s", text(d))
		}
		c.ends(never, slurm.NodeFail)
		// It can be started elsewhere at once.
		c.must(c.Owner.Hold(c.ctx, again))
		c.must(c.Owner.Update(c.ctx, again, slurm.Update{Nodes: c.nodes[1:], GPUsPerNode: 2, StartAfter: time.Second}))
		c.must(c.Owner.Release(c.ctx, again))
		c.splitIs(c.runs(again), 2)
	}},
	{"a job whose node fails during clean-up can start again", 2, func(c *check) {
		id := c.completing(func(slurm.JobID) {})
		c.must(c.NodeDown(c.ctx, c.nodes[0]))
		defer c.giveBack(c.nodes[0])
		d := c.pends(id)
		// Slurm 20.11 and 22.05 still count it there.
		c.must(c.Operator.Clear(c.ctx, id))
		c.until(id, "cleared", func(d slurm.Detail) bool { return isPending(d) && d.Held && !d.Lingers() })
		if again := c.job(id).Restarts; d.Lingers() != (again == 2) || !d.Lingers() && again != 1 {
			c.Errorf("was %s, is %s", text(d), text(c.job(id)))
		}
		c.must(c.Owner.Update(c.ctx, id, slurm.Update{Nodes: c.nodes[1:], GPUsPerNode: 2, CPUs: 1, StartAfter: time.Second}))
		c.must(c.Owner.Release(c.ctx, id))
		c.splitIs(c.runs(id), 2)
		c.must(c.Owner.Cancel(c.ctx, id))
		c.ends(id, slurm.Cancelled)
		if n := c.node(c.nodes[1]); n.GPUsUsed != 0 {
			c.Errorf("%d GPUs of an idle node are counted as used", n.GPUsUsed)
		}
	}},
	{"a job over two nodes loses one", 2, func(c *check) {
		id := c.held(1)
		c.must(c.Owner.Update(c.ctx, id, slurm.Update{Nodes: c.nodes, GPUsPerNode: 2, CPUs: 2, StartAfter: time.Second}))
		c.must(c.Owner.Release(c.ctx, id))
		c.runs(id)
		c.must(c.NodeDown(c.ctx, c.nodes[0]))
		defer c.giveBack(c.nodes[0])
		if d := c.pends(id); d.Restarts != 1 {
			c.Errorf("%s", text(d))
		}
		c.must(c.Owner.Hold(c.ctx, id))
		c.must(c.Owner.Update(c.ctx, id, slurm.Update{Nodes: c.nodes[1:], GPUsPerNode: 1, CPUs: 1, StartAfter: time.Second}))
		c.must(c.Owner.Release(c.ctx, id))
		c.splitIs(c.runs(id), 1)
	}},
}

func (c *check) node(name string) slurm.Node {
	c.Helper()
	nodes, err := c.Owner.Nodes(c.ctx)
	c.must(err)
	for _, n := range nodes {
		if n.Name == name {
			return n
		}
	}
	c.Fatalf("node %s is not listed", name)
	return slurm.Node{}
}

// giveBack returns a node to service and waits until it may be used again.
func (c *check) giveBack(name string) {
	c.Helper()
	if err := c.NodeReturn(context.WithoutCancel(c.ctx), name); err != nil {
		c.Error(err)
		return
	}
	for end := c.Now().Add(c.Patience); c.Now().Before(end); c.Step() {
		if ok, _ := c.node(name).Usable(); ok {
			return
		}
	}
	c.Errorf("node %s does not return", name)
}

// outage stops slurmctld under a running job.
func outage(c *check) {
	id := c.running(long, 2)
	c.must(c.Stop(c.ctx))
	_, err := c.Owner.Jobs(c.ctx)
	c.fails("listing", err, slurm.ErrControllerDown)
	if err := c.Owner.RequeueHold(c.ctx, id); !errors.Is(err, slurm.ErrControllerDown) && !errors.Is(err, slurm.ErrUnknownOutcome) {
		c.Errorf("requeuehold: got %v, want ErrControllerDown", err)
	}
	c.must(c.Start(c.ctx))
	end := c.Now().Add(c.Patience)
	for _, err := c.Owner.Job(c.ctx, id); err != nil && c.Now().Before(end); _, err = c.Owner.Job(c.ctx, id) {
		c.Step()
	}
	d := c.runs(id)
	if d.Restarts != 0 {
		c.Errorf("after the outage: %s", text(d))
	}
	c.splitIs(d, 2)
}
