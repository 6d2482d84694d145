package conform

import (
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

var holds = []promise{
	{"the owner releases what he held", 1, func(c *check) {
		id := c.held(1)
		c.must(c.Owner.Release(c.ctx, id))
		d := c.runs(id)
		if d.Held || d.Restarts != 0 {
			c.Errorf("runs as %s", text(d))
		}
	}},
	{"a hold keeps a pending job", 1, func(c *check) {
		c.running(long, c.GPUs)
		id := c.submit(long, "--gres=gpu:1")
		c.must(c.Owner.Hold(c.ctx, id))
		if d := c.job(id); !d.Held || d.Reason != "JobHeldUser" {
			c.Errorf("after the hold: %s", text(d))
		}
		c.must(c.Owner.Release(c.ctx, id))
		if d := c.job(id); d.Held {
			c.Errorf("after the release: %s", text(d))
		}
	}},
	{"the owner may lift the operator's hold", 1, func(c *check) {
		c.running(long, c.GPUs)
		id := c.submit(long, "--gres=gpu:1")
		c.must(c.Operator.Hold(c.ctx, id))
		if d := c.job(id); d.Reason != "JobHeldUser" {
			c.Errorf("reason %q, want JobHeldUser", d.Reason)
		}
		c.must(c.Owner.Release(c.ctx, id))
		if d := c.job(id); d.Held {
			c.Errorf("after the release: %s", text(d))
		}
	}},
	{"the owner may not lift an administrator's hold", 1, func(c *check) {
		id := c.held(1)
		c.must(c.AdminHold(c.ctx, id))
		if d := c.job(id); d.Reason != "JobHeldAdmin" {
			c.Errorf("reason %q, want JobHeldAdmin", d.Reason)
		}
		c.fails("the owner's release", c.Owner.Release(c.ctx, id), slurm.ErrPermission)
		c.must(c.Operator.Hold(c.ctx, id)) // which does not weaken it
		c.fails("the owner's release", c.Owner.Release(c.ctx, id), slurm.ErrPermission)
		c.must(c.Operator.Release(c.ctx, id))
		c.runs(id)
	}},
	{"a running job may be held and runs on", 1, func(c *check) {
		id := c.running(long, 1)
		c.must(c.Owner.Hold(c.ctx, id))
		if d := c.job(id); !d.Held || d.State != slurm.Running {
			c.Errorf("after the hold: %s", text(d))
		}
		c.must(c.Owner.Release(c.ctx, id))
		if d := c.job(id); d.Held || d.State != slurm.Running {
			c.Errorf("after the release: %s", text(d))
		}
	}},
	{"a job held while it ran stays held when requeued", 1, func(c *check) {
		id := c.running(long, 1)
		c.must(c.Owner.Hold(c.ctx, id))
		c.must(c.Requeue(c.ctx, id))
		if d := c.pends(id); !d.Held {
			c.Errorf("requeued: %s", text(d))
		}
	}},
	{"releasing twice does no harm", 1, func(c *check) {
		id := c.held(1)
		c.must(c.Owner.Release(c.ctx, id))
		c.must(c.Owner.Release(c.ctx, id))
		c.runs(id)
		c.must(c.Owner.Release(c.ctx, id))
	}},
	{"holding twice does no harm", 1, func(c *check) {
		id := c.held(1)
		c.must(c.Operator.Hold(c.ctx, id))
		c.must(c.Operator.Hold(c.ctx, id))
		c.must(c.Owner.Release(c.ctx, id))
		c.runs(id)
	}},
}

var requeues = []promise{
	{"requeuehold leaves the job pending and held by its user", 1, func(c *check) {
		id := c.running(long, 2)
		c.must(c.Operator.RequeueHold(c.ctx, id))
		d := c.pends(id)
		if !d.Held || d.Restarts != 1 || len(d.Nodes)+len(d.Split) != 0 {
			c.Errorf("after requeuehold: %s", text(d))
		}
		c.stays(id, "held", func(d slurm.Detail) bool { return isPending(d) && d.Held })
		c.must(c.Owner.Release(c.ctx, id))
	}},
	{"while its last run is cleaned away a requeued job is completing", 1, func(c *check) {
		id, seen := c.seenCompleting()
		for from, j := range seen {
			if !j.Completing || j.State.Ended() || j.Restarts != 1 {
				c.Errorf("%s: state=%s completing=%t restarts=%d", from, j.State, j.Completing, j.Restarts)
			}
		}
		c.must(c.Owner.RequeueHold(c.ctx, id)) // again, without effect
		if d := c.pends(id); d.Restarts != 1 {
			c.Errorf("afterwards: %s", text(d))
		}
	}},
	{"a requeued job waits two minutes", 1, func(c *check) {
		id := c.running(long, 1)
		c.must(c.Requeue(c.ctx, id))
		d := c.pends(id)
		if wait := d.Eligible.Sub(c.Now()); wait < 100*time.Second || wait > 125*time.Second {
			c.Errorf("eligible in %s, want about 121 s", wait)
		}
		c.until(id, "waiting for its begin time", func(d slurm.Detail) bool { return d.Reason == "BeginTime" })
	}},
	{"StartAfter ends that wait", 1, func(c *check) {
		id := c.running(long, 1)
		c.must(c.Requeue(c.ctx, id))
		c.pends(id)
		c.must(c.Owner.Update(c.ctx, id, slurm.Update{StartAfter: time.Second}))
		began := c.Now()
		d := c.runs(id)
		if took := c.Now().Sub(began); took > 90*time.Second || d.Restarts != 1 {
			c.Errorf("took %s: %s", took, text(d))
		}
	}},
	{"StartAfter written while completing is overwritten", 1, func(c *check) {
		id := c.completing(func(id slurm.JobID) {
			c.must(c.Owner.Update(c.ctx, id, slurm.Update{StartAfter: time.Second}))
			c.pastStart()
		})
		d := c.pends(id)
		if wait := d.Eligible.Sub(c.Now()); wait < 100*time.Second {
			c.Errorf("eligible in %s, want about 121 s", wait)
		}
	}},
	{"requeuehold leaves a cancelled job dead", 1, func(c *check) {
		id := c.running(stubborn, 1)
		c.must(c.Owner.Cancel(c.ctx, id))
		c.must(c.Owner.RequeueHold(c.ctx, id)) // while it is completing
		c.ends(id, slurm.Cancelled)
		c.must(c.Owner.RequeueHold(c.ctx, id))
		c.stays(id, "cancelled", func(d slurm.Detail) bool { return d.State == slurm.Cancelled && d.Restarts == 0 })
	}},
	{"revive brings a failed job back, held", 1, func(c *check) {
		id := c.failed()
		c.must(c.Operator.Revive(c.ctx, id))
		d := c.pends(id)
		if !d.Held || d.Restarts != 1 || len(d.Nodes) != 0 {
			c.Errorf("revived: %s", text(d))
		}
		c.must(c.Operator.Revive(c.ctx, id)) // again, without effect
		c.stays(id, "held", func(d slurm.Detail) bool { return isPending(d) && d.Held && d.Restarts == 1 })
		// It is written to and started as any other held job.
		c.must(c.Operator.Update(c.ctx, id, slurm.Update{Nodes: c.nodes[:1], GPUsPerNode: 2, CPUs: 1, StartAfter: time.Second}))
		c.must(c.Operator.Release(c.ctx, id))
		c.until(id, "failed again", func(d slurm.Detail) bool { return isOver(d) && d.State == slurm.Failed })
	}},
	{"revive leaves every other job alone", 1, func(c *check) {
		runs := c.running(long, 1)
		c.must(c.Owner.Revive(c.ctx, runs))
		c.stays(runs, "running", isRunning)
		c.must(c.Owner.Cancel(c.ctx, runs))
		c.ends(runs, slurm.Cancelled)
		done := c.submit("#!/bin/sh\nexit 0\n", "--nodes=1", "--ntasks=1")
		c.ends(done, slurm.Completed)
		held := c.held(1)
		for _, id := range []slurm.JobID{runs, done, held} {
			before := c.job(id)
			c.must(c.Owner.Revive(c.ctx, id))
			c.stays(id, string(before.State), func(d slurm.Detail) bool { return d.State == before.State && d.Restarts == before.Restarts })
		}
		c.fails("revive", c.Other.Revive(c.ctx, c.failed()), slurm.ErrPermission)
	}},
	{"clear leaves every other job alone", 1, func(c *check) {
		runs := c.running(long, 1)
		done := c.submit("#!/bin/sh\nexit 0\n", "--nodes=1", "--ntasks=1")
		c.ends(done, slurm.Completed)
		for _, id := range []slurm.JobID{runs, done, c.held(1), c.failed()} {
			before := c.job(id)
			c.must(c.Owner.Clear(c.ctx, id))
			c.stays(id, string(before.State), func(d slurm.Detail) bool { return d.State == before.State && d.Restarts == before.Restarts })
		}
		// One that is cancelled is brought back: the caller knows that it is owed.
		c.must(c.Owner.Cancel(c.ctx, runs))
		c.ends(runs, slurm.Cancelled)
		c.must(c.Operator.Clear(c.ctx, runs))
		if d := c.pends(runs); !d.Held || d.Restarts != 1 || len(d.Nodes) != 0 {
			c.Errorf("cleared: %s", text(d))
		}
	}},
	{"a job submitted with --no-requeue cannot be requeued", 1, func(c *check) {
		id := c.running(long, 1, "--no-requeue")
		if c.job(id).Requeue {
			c.Error("Requeue is set")
		}
		c.fails("requeuehold", c.Owner.RequeueHold(c.ctx, id), slurm.ErrRefused)
	}},
}
