package conform

import (
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// returns are the promises about jobs that come back to the queue without a hold.
var returns = []promise{
	{"a requeued job waits for its begin time, with its priority", 1, func(c *check) {
		for _, who := range []slurm.Client{c.Owner, c.Operator} {
			id := c.running(long, 2)
			c.must(who.RequeueRunning(c.ctx, id))
			d := c.pends(id)
			if d.Held || d.Priority < 1 || d.Restarts != 1 || len(d.Nodes)+len(d.Split) != 0 {
				c.Errorf("requeued: %s", text(d))
			}
			c.delayed(id)
			c.must(who.RequeueRunning(c.ctx, id)) // again, without effect
			c.stays(id, "deferred", func(d slurm.Detail) bool { return c.waiting(d) && d.Restarts == 1 })
			c.must(who.Update(c.ctx, id, slurm.Update{Nodes: c.nodes, GPUsPerNode: 3, CPUs: 1}))
			c.delayed(id) // a size does not shorten it
			c.must(who.Start(c.ctx, id))
			c.splitIs(c.startsSoon(id), 3)
			c.must(c.Owner.Cancel(c.ctx, id))
			c.until(id, "ended", isOver)
		}
	}},
	{"a begin time that is set while completing is kept if it is in the future", 1, func(c *check) {
		var until time.Time
		id := c.completingBy(c.Owner.RequeueRunning, func(id slurm.JobID) {
			until = c.Now().Add(time.Hour)
			c.must(c.Owner.Defer(c.ctx, id, until))
		})
		for from, j := range map[string]slurm.Job{"job": c.job(id).Job, "list": c.listed(id)} {
			if j.Completing && (j.State != slurm.Pending || j.Held || j.Restarts != 1) {
				c.Errorf("%s: %+v", from, j)
			}
		}
		c.must(c.Owner.RequeueRunning(c.ctx, id)) // again, without effect
		d := c.pends(id)
		c.beginsAt(id, until)
		if d.Restarts != 1 || d.Held {
			c.Errorf("requeued: %s", text(d))
		}
		c.must(c.Owner.Start(c.ctx, id))
		c.startsSoon(id)
	}},
	{"a start while completing is overwritten by the requeue delay", 1, func(c *check) {
		id := c.completingBy(c.Owner.RequeueRunning, func(id slurm.JobID) {
			c.must(c.Owner.Start(c.ctx, id))
			c.pastStart()
		})
		c.pends(id)
		c.delayed(id)
	}},
	{"a job cancelled while completing, or deferred after it, ends", 1, func(c *check) {
		id := c.running(stubborn, 1)
		c.must(c.Operator.RequeueRunning(c.ctx, id))
		c.must(c.Owner.Cancel(c.ctx, id))
		c.ends(id, slurm.Cancelled)
		next := c.running(long, 1)
		c.must(c.Operator.RequeueRunning(c.ctx, next))
		c.pends(next)
		c.must(c.Owner.Cancel(c.ctx, next))
		c.ends(next, slurm.Cancelled)
	}},
	{"a requeue of a running job leaves every other job alone", 1, func(c *check) {
		stopped := c.running(stubborn, 1)
		c.must(c.Owner.Cancel(c.ctx, stopped))
		c.must(c.Owner.RequeueRunning(c.ctx, stopped)) // while it is completing
		c.ends(stopped, slurm.Cancelled)
		done := c.submit("#!/bin/sh\nexit 0\n", "--nodes=1", "--ntasks=1")
		c.ends(done, slurm.Completed)
		for _, id := range []slurm.JobID{stopped, done, c.failed(), c.held(1)} {
			before := c.job(id)
			c.must(c.Owner.RequeueRunning(c.ctx, id))
			c.stays(id, string(before.State), func(d slurm.Detail) bool {
				return d.State == before.State && d.Restarts == 0 && d.Held == before.Held
			})
		}
		fixed := c.running(long, 1, "--no-requeue")
		c.fails("a job of --no-requeue", c.Owner.RequeueRunning(c.ctx, fixed), slurm.ErrRefused)
		c.fails("another user's job", c.Other.RequeueRunning(c.ctx, c.running(long, 1)), slurm.ErrPermission)
		c.fails("an unknown job", c.Owner.RequeueRunning(c.ctx, 3_999_999), slurm.ErrNotFound)
		c.stays(fixed, "running", func(d slurm.Detail) bool { return isRunning(d) && d.Restarts == 0 })
	}},
	{"a job held while it ran stays held when it is requeued and deferred", 1, func(c *check) {
		id := c.running(long, 1)
		c.must(c.Owner.Hold(c.ctx, id))
		c.must(c.Operator.RequeueRunning(c.ctx, id))
		isHeld := func(d slurm.Detail) bool { return isPending(d) && d.Held && d.Priority == 0 }
		if d := c.pends(id); !isHeld(d) {
			c.Errorf("requeued: %s", text(d))
		}
		until := c.Now().Add(time.Hour)
		c.must(c.Operator.Defer(c.ctx, id, until))
		c.stays(id, "held", isHeld)
		c.must(c.Owner.Release(c.ctx, id))
		c.stays(id, "deferred", c.waiting)
		c.beginsAt(id, until)
	}},
	{"a failed job is brought back without a hold", 1, func(c *check) {
		id := c.failed()
		c.must(c.Operator.RequeueFailed(c.ctx, id))
		d := c.pends(id)
		if d.Held || d.Priority < 1 || d.Restarts != 1 || len(d.Nodes) != 0 {
			c.Errorf("brought back: %s", text(d))
		}
		c.delayed(id)
		c.must(c.Operator.RequeueFailed(c.ctx, id)) // again, without effect
		c.stays(id, "deferred", func(d slurm.Detail) bool { return c.waiting(d) && d.Restarts == 1 })
		c.must(c.Operator.Update(c.ctx, id, slurm.Update{Nodes: c.nodes[:1], GPUsPerNode: 2, CPUs: 1, StartAfter: time.Second}))
		c.until(id, "failed again", func(d slurm.Detail) bool { return isOver(d) && d.State == slurm.Failed })
	}},
	{"a requeue of a failed or lingering job leaves every other job alone", 1, func(c *check) {
		runs := c.running(long, 1)
		done := c.submit("#!/bin/sh\nexit 0\n", "--nodes=1", "--ntasks=1")
		c.ends(done, slurm.Completed)
		failed := c.failed()
		for _, id := range []slurm.JobID{runs, done, c.deferred(1), c.held(1)} {
			before := c.job(id)
			c.must(c.Owner.RequeueFailed(c.ctx, id))
			c.must(c.Owner.RequeueLingering(c.ctx, id))
			c.stays(id, string(before.State), func(d slurm.Detail) bool { return d.State == before.State && d.Restarts == before.Restarts })
		}
		c.must(c.Owner.RequeueLingering(c.ctx, failed))
		c.fails("another user's job", c.Other.RequeueFailed(c.ctx, failed), slurm.ErrPermission)
		if d := c.job(failed); d.State != slurm.Failed || d.Restarts != 0 {
			c.Errorf("the failed one: %s", text(d))
		}
		c.must(c.Owner.Cancel(c.ctx, runs))
		c.ends(runs, slurm.Cancelled)
		c.must(c.Owner.RequeueFailed(c.ctx, runs))
		c.ends(runs, slurm.Cancelled)
		// One that is cancelled is brought back: the caller knows that it is owed.
		c.must(c.Operator.RequeueLingering(c.ctx, runs))
		if d := c.pends(runs); d.Held || d.Priority < 1 || d.Restarts != 1 || len(d.Nodes) != 0 {
			c.Errorf("brought back: %s", text(d))
		}
		c.delayed(runs)
	}},
	{"a deferred job whose node failed during clean-up can start again", 2, func(c *check) {
		// Deferred, or Slurm 20.11 and 22.05 may start it without GPUs before it is looked at.
		id := c.completingBy(c.Owner.RequeueRunning, func(id slurm.JobID) { c.must(c.Owner.Defer(c.ctx, id, c.Now().Add(121*time.Second))) })
		c.must(c.NodeDown(c.ctx, c.nodes[0]))
		defer c.giveBack(c.nodes[0])
		d := c.pends(id)
		// Slurm 20.11 and 22.05 still count it there.
		c.must(c.Operator.RequeueLingering(c.ctx, id))
		c.until(id, "cleared", func(d slurm.Detail) bool { return isPending(d) && !d.Lingers() })
		if now := c.job(id); now.Held || d.Lingers() != (now.Restarts == 2) || !d.Lingers() && now.Restarts != 1 {
			c.Errorf("was %s, is %s", text(d), text(now))
		}
		c.delayed(id)
		c.must(c.Owner.Update(c.ctx, id, slurm.Update{Nodes: c.nodes[1:], GPUsPerNode: 2, CPUs: 1, StartAfter: time.Second}))
		c.splitIs(c.startsSoon(id), 2)
	}},
	// Slurm 20.11 and 22.05 give such a job no begin time of their own, and start it without GPUs.
	{"a job deferred right after its requeue does not start when its node fails during clean-up", 1, func(c *check) {
		until := c.Now().Add(time.Hour).Truncate(time.Second)
		id := c.completingBy(c.Owner.RequeueRunning, func(id slurm.JobID) { c.must(c.Owner.Defer(c.ctx, id, until)) })
		c.must(c.NodeDown(c.ctx, c.nodes[0]))
		c.pends(id)
		c.giveBack(c.nodes[0])
		c.stays(id, "deferred", func(d slurm.Detail) bool { return c.waiting(d) && d.Eligible.Equal(until) })
		c.must(c.Operator.RequeueLingering(c.ctx, id)) // or its GPUs stay counted
	}},
}

// together are the promises about begin times of heterogeneous jobs: the first part's id
// stands for all parts.
var together = []promise{
	{"a heterogeneous job is deferred and requeued by its first part", 2, func(c *check) {
		lead, part := c.gang(c.nodes[0], c.nodes[1])
		until := c.Now().Add(time.Hour)
		c.must(c.Owner.Defer(c.ctx, lead, until))
		c.must(c.Owner.Release(c.ctx, lead))
		for _, id := range []slurm.JobID{lead, part} {
			c.beginsAt(id, until)
			c.stays(id, "deferred", c.waiting)
		}
		c.must(c.Owner.Start(c.ctx, lead))
		c.runs(lead)
		c.runs(part)
		c.fails("a requeue of a later part", c.Owner.RequeueRunning(c.ctx, part), slurm.ErrRefused)
		c.must(c.Owner.RequeueRunning(c.ctx, lead))
		for _, id := range []slurm.JobID{lead, part} {
			if d := c.pends(id); d.Held || d.Restarts != 1 {
				c.Errorf("%s", text(d))
			}
			c.delayed(id)
		}
	}},
}

// delayed checks that the job's begin time is that of Slurm's own requeue delay.
func (c *check) delayed(id slurm.JobID) {
	c.Helper()
	if d := c.job(id); d.Eligible.Sub(c.Now()) < 60*time.Second || d.Eligible.Sub(c.Now()) > 125*time.Second || !d.Deferred(c.Now()) {
		c.Errorf("eligible in %s, want some 121 s less what was waited: %s", d.Eligible.Sub(c.Now()), text(d))
	}
}
