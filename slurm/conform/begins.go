package conform

import (
	"fmt"
	"reflect"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// begins are the promises about jobs that a begin time keeps from starting. A job whose
// begin time is no longer renewed starts by itself.
var begins = []promise{
	{"a deferred job waits with its priority", 1, func(c *check) {
		id := c.deferred(1)
		c.until(id, "waiting for its begin time", func(d slurm.Detail) bool { return d.Reason == "BeginTime" })
		c.stays(id, "deferred", func(d slurm.Detail) bool { return c.waiting(d) && d.Priority > 0 && len(d.Nodes) == 0 })
		if j := c.listed(id); !j.Deferred(c.Now()) || j.Priority < 1 || !j.Eligible.Equal(c.job(id).Eligible) {
			c.Errorf("listed: %+v", j)
		}
	}},
	{"a deferred job starts soon when it is started", 1, func(c *check) {
		for _, who := range []slurm.Client{c.Owner, c.Operator} {
			id := c.deferred(1)
			c.must(who.Start(c.ctx, id))
			if in := c.job(id).Eligible.Sub(c.Now()); in > 2*time.Second {
				c.Errorf("eligible in %s", in)
			}
			c.startsSoon(id)
			c.must(c.Owner.Cancel(c.ctx, id))
			c.until(id, "ended", isOver)
		}
	}},
	// With Slurm's default scheduling parameters, too: the pass that the change requests
	// does not come before its begin time.
	{"a deferred job starts at the next pass when it is started for the first time", 1, func(c *check) {
		for _, who := range []slurm.Client{c.Owner, c.Operator} {
			id := c.deferred(1)
			asked := c.Now()
			c.must(who.StartFirst(c.ctx, id))
			if d := c.job(id); d.Eligible.After(c.Now()) || d.Deferred(c.Now()) {
				c.Errorf("eligible in %s: %s", d.Eligible.Sub(c.Now()), text(d))
			}
			if d := c.runs(id); d.Restarts != 0 || d.Held {
				c.Errorf("started: %s", text(d))
			}
			if took := c.Now().Sub(asked); took > passSoon {
				c.Errorf("started %s after it was let start", took)
			}
			c.must(c.Owner.Cancel(c.ctx, id))
			c.until(id, "ended", isOver)
		}
	}},
	{"a begin time is set to the second, by owner and operator, and again", 1, func(c *check) {
		id := c.deferred(1)
		for i, who := range []slurm.Client{c.Owner, c.Operator, c.Operator} {
			until := c.Now().Add(time.Duration(3+i/2)*time.Hour + 300*time.Millisecond)
			for range 2 {
				c.must(who.Defer(c.ctx, id, until))
				c.beginsAt(id, until)
			}
		}
		c.stays(id, "deferred", c.waiting)
	}},
	{"a begin time in the present or past is refused", 1, func(c *check) {
		id := c.deferred(1)
		before := c.job(id).Eligible
		for _, ahead := range []time.Duration{-time.Hour, 0, time.Second} {
			c.fails(ahead.String(), c.Owner.Defer(c.ctx, id, c.Now().Add(ahead)), slurm.ErrRefused)
			c.fails(ahead.String(), c.Owner.Update(c.ctx, id, slurm.Update{StartAt: c.Now().Add(ahead)}), slurm.ErrRefused)
		}
		c.beginsAt(id, before)
	}},
	{"a job that does not wait is neither deferred nor started", 1, func(c *check) {
		runs, gone, failed := c.running(long, 1), c.deferred(1), c.failed()
		c.must(c.Owner.Cancel(c.ctx, gone))
		c.ends(gone, slurm.Cancelled)
		for _, id := range []slurm.JobID{runs, gone, failed} {
			before := c.job(id)
			c.fails("defer", c.Operator.Defer(c.ctx, id, c.Now().Add(time.Hour)), slurm.ErrWrongState)
			c.fails("start", c.Operator.Start(c.ctx, id), slurm.ErrWrongState)
			c.fails("first start", c.Operator.StartFirst(c.ctx, id), slurm.ErrWrongState)
			c.fails("a begin time", c.Operator.Update(c.ctx, id, slurm.Update{StartAt: c.Now().Add(time.Hour)}), slurm.ErrWrongState)
			c.stays(id, string(before.State), func(d slurm.Detail) bool {
				return d.State == before.State && d.Restarts == 0 && !d.Held && d.Eligible.Equal(before.Eligible)
			})
		}
	}},
	{"a job that is deferred in the moment of its start runs, or waits", 1, func(c *check) {
		for tries := range 4 {
			id := c.deferred(1)
			c.must(c.Owner.Start(c.ctx, id))
			for begin := c.job(id).Eligible; c.Now().Before(begin); {
				c.Step()
			}
			for range tries {
				c.Step()
			}
			err := c.Operator.Defer(c.ctx, id, c.Now().Add(time.Hour))
			if err != nil {
				c.fails("defer", err, slurm.ErrWrongState)
				c.stays(id, "running", func(d slurm.Detail) bool { return isRunning(d) && d.Restarts == 0 })
			} else {
				c.stays(id, "deferred", c.waiting)
			}
			c.must(c.Owner.Cancel(c.ctx, id))
			c.until(id, "ended", isOver)
		}
	}},
	{"a hold of a deferred job is seen, and its release does not start it", 1, func(c *check) {
		for reason, by := range map[string]struct{ hold, release func(slurm.JobID) error }{
			"JobHeldUser":  {func(id slurm.JobID) error { return c.Owner.Hold(c.ctx, id) }, func(id slurm.JobID) error { return c.Owner.Release(c.ctx, id) }},
			"JobHeldAdmin": {func(id slurm.JobID) error { return c.AdminHold(c.ctx, id) }, func(id slurm.JobID) error { return c.Operator.Release(c.ctx, id) }},
		} {
			id := c.deferred(1)
			begin := c.job(id).Eligible
			c.must(by.hold(id))
			if j := c.listed(id); !j.Held || j.Priority != 0 || j.Reason != reason || j.Deferred(c.Now()) || !j.Eligible.Equal(begin) {
				c.Errorf("held: %+v", j)
			}
			c.must(by.release(id))
			c.until(id, "released", func(d slurm.Detail) bool { return d.Priority > 0 })
			c.stays(id, "deferred", c.waiting)
			c.beginsAt(id, begin)
		}
	}},
	{"a held job stays held whatever its begin time", 1, func(c *check) {
		for reason, hold := range map[string]func(slurm.JobID) error{
			"JobHeldUser":  func(id slurm.JobID) error { return c.Owner.Hold(c.ctx, id) },
			"JobHeldAdmin": func(id slurm.JobID) error { return c.AdminHold(c.ctx, id) },
		} {
			id := c.deferred(1)
			c.must(hold(id))
			until := c.Now().Add(5 * time.Hour)
			c.must(c.Operator.Defer(c.ctx, id, until))
			c.beginsAt(id, until)
			c.must(c.Operator.Start(c.ctx, id))
			c.stays(id, "held", func(d slurm.Detail) bool { return isPending(d) && d.Held && d.Reason == reason })
			c.must(c.Operator.Release(c.ctx, id))
			c.startsSoon(id)
			c.must(c.Owner.Cancel(c.ctx, id))
			c.until(id, "ended", isOver)
		}
	}},
	{"a begin time that the owner sets is seen", 1, func(c *check) {
		id := c.deferred(1)
		c.must(c.Owner.Update(c.ctx, id, slurm.Update{StartAfter: 90 * time.Minute}))
		if in := c.listed(id).Eligible.Sub(c.Now()); in < 89*time.Minute || in > 90*time.Minute+2*time.Second {
			c.Errorf("eligible in %s, want 90 minutes", in)
		}
		until := c.Now().Add(4 * time.Hour)
		c.must(c.Owner.Update(c.ctx, id, slurm.Update{StartAt: until}))
		c.beginsAt(id, until)
		c.stays(id, "deferred", c.waiting)
	}},
	{"what is written to a deferred job keeps its begin time", 2, func(c *check) {
		id := c.deferred(1)
		begin, note := c.job(id).Eligible, "deferred"
		other := c.partitionOf(c.nodes, "")
		for _, u := range []slurm.Update{
			{Comment: &note},
			{Nodes: c.nodes, GPUsPerNode: 2, CPUs: 2},
			{Nodes: c.nodes[1:], GPUsTotal: 3, CPUs: 1, Partition: other.name},
		} {
			c.must(c.Operator.Update(c.ctx, id, u))
			c.beginsAt(id, begin)
		}
		c.stays(id, "deferred", c.waiting)
		c.in(id, other.name)
		if d := c.job(id); d.GPUs != 3 || d.Comment != note || d.Priority < 1 {
			c.Errorf("written: %s", text(d))
		}
		c.must(c.Owner.Start(c.ctx, id))
		c.splitIs(c.startsSoon(id), 3)
	}},
	{"a size and a begin time are written together", 2, func(c *check) {
		id := c.deferred(1)
		until := c.Now().Add(5*time.Hour + time.Millisecond)
		c.must(c.Owner.Update(c.ctx, id, slurm.Update{Nodes: c.nodes, GPUsPerNode: 2, CPUs: 2, StartAt: until}))
		c.beginsAt(id, until)
		c.stays(id, "deferred", c.waiting)
		c.must(c.Owner.Update(c.ctx, id, slurm.Update{Nodes: c.nodes, GPUsTotal: 5, CPUs: 2, StartAfter: time.Second}))
		c.splitIs(c.startsSoon(id), 4, 1)
	}},
	{"a deferred job starts by itself at its size once its begin time has passed", 1, func(c *check) {
		id := c.deferred(1)
		c.must(c.Owner.Update(c.ctx, id, slurm.Update{Nodes: c.nodes, GPUsPerNode: 3, CPUs: 1, StartAt: c.Now().Add(4 * time.Second)}))
		begin := c.job(id).Eligible
		d := c.runs(id)
		c.splitIs(d, 3)
		if d.Start.Before(begin) || d.Restarts != 0 || d.Held {
			c.Errorf("begin time %s, start %s: %s", begin, d.Start, text(d))
		}
	}},
	{"a deferred job is cancelled as any other, and not requeued", 1, func(c *check) {
		id := c.deferred(1)
		if err := c.Requeue(c.ctx, id); err == nil {
			c.Error("a pending job was requeued")
		}
		c.must(c.Owner.RequeueRunning(c.ctx, id))
		if d := c.job(id); !c.waiting(d) || d.Restarts != 0 {
			c.Errorf("after both: %s", text(d))
		}
		c.must(c.Owner.Cancel(c.ctx, id))
		c.ends(id, slurm.Cancelled)
	}},
	{"begin times can be set by those who may change the job", 1, func(c *check) {
		id := c.deferred(1)
		before := c.listed(id)
		c.fails("defer", c.Other.Defer(c.ctx, id, c.Now().Add(time.Hour)), slurm.ErrPermission)
		c.fails("start", c.Other.Start(c.ctx, id), slurm.ErrPermission)
		c.fails("first start", c.Other.StartFirst(c.ctx, id), slurm.ErrPermission)
		const none = slurm.JobID(3_999_999)
		c.fails("defer", c.Owner.Defer(c.ctx, none, c.Now().Add(time.Hour)), slurm.ErrNotFound)
		c.fails("start", c.Owner.Start(c.ctx, none), slurm.ErrNotFound)
		after := c.listed(id)
		before.Reason, after.Reason = "", "" // BeginTime only after a pass
		if !reflect.DeepEqual(before, after) {
			c.Errorf("was %+v, is %+v", before, after)
		}
	}},
}

// restarted is the promise that slurmctld keeps begin times.
func restarted(c *check) {
	id, held := c.deferred(1), c.deferred(1)
	until := c.Now().Add(6 * time.Hour)
	c.must(c.Owner.Defer(c.ctx, id, until))
	c.must(c.Owner.Update(c.ctx, id, slurm.Update{Nodes: c.nodes, GPUsPerNode: 2, CPUs: 1}))
	c.must(c.Owner.Hold(c.ctx, held))
	begin := c.job(held).Eligible
	c.must(c.Stop(c.ctx))
	c.must(c.Start(c.ctx))
	end := c.Now().Add(c.Patience)
	for _, err := c.Owner.Job(c.ctx, id); err != nil && c.Now().Before(end); _, err = c.Owner.Job(c.ctx, id) {
		c.Step()
	}
	c.beginsAt(id, until)
	c.beginsAt(held, begin)
	c.stays(id, "deferred", func(d slurm.Detail) bool { return c.waiting(d) && d.Priority > 0 })
	if !c.job(held).Held {
		c.Error("the held job is not held")
	}
	c.must(c.Owner.Start(c.ctx, id))
	c.splitIs(c.startsSoon(id), 2)
}

// ages are the promises about the part of a job's age in its priority.
var ages = []promise{
	{"a job's age counts from its begin time on", 1, func(c *check) {
		a := c.account("")
		c.running(long, c.GPUs, a)
		waits := c.submit(long, "--gres=gpu:1", a)
		first := c.job(waits).Priority
		id := c.deferred(1, a)
		was := c.job(id).Priority
		older := func(d slurm.Detail) bool { return d.Priority > was && isPending(d) && !d.Held }
		grown := c.until(waits, "of a higher priority", func(d slurm.Detail) bool { return older(d) && d.Priority > first }).Priority
		if d := c.job(id); d.Priority != was || was < 1 {
			c.Errorf("the priority of the deferred job goes from %d to %d", was, d.Priority)
		}
		c.must(c.Owner.Start(c.ctx, id))
		c.until(id, "of a higher priority", older)
		// A new begin time starts it anew.
		c.must(c.Owner.Defer(c.ctx, waits, c.Now().Add(time.Hour)))
		c.until(waits, "of a lower priority", func(d slurm.Detail) bool { return d.Priority < grown && c.waiting(d) })
	}},
}

// deferred submits a one-node job with a begin time two hours ahead, as sluice does.
func (c *check) deferred(gpus int, args ...string) slurm.JobID {
	c.Helper()
	return c.submit(long, append([]string{"--begin=now+7200", "--nodes=1", "--ntasks=1", fmt.Sprintf("--gres=gpu:%d", gpus)}, args...)...)
}

// waiting reports whether the job waits for a begin time, and only for it.
func (c *check) waiting(d slurm.Detail) bool { return isPending(d) && d.Deferred(c.Now()) }

// beginsAt checks the job's begin time, which is a whole second.
func (c *check) beginsAt(id slurm.JobID, want time.Time) {
	c.Helper()
	got := c.listed(id).Eligible
	if off := got.Sub(want); off < 0 || off >= time.Second || got.Nanosecond() != 0 {
		c.Errorf("begin time %s, want %s", got, want)
	}
}

// startsSoon waits for a job that was started: it runs soon after a pass is requested.
func (c *check) startsSoon(id slurm.JobID) slurm.Detail {
	c.Helper()
	begin := c.job(id).Eligible
	for c.Now().Before(begin.Add(time.Second)) {
		c.Step()
	}
	asked := c.Now()
	if !isRunning(c.job(id)) {
		c.must(c.Operator.RequestPass(c.ctx, id))
	}
	d := c.runs(id)
	if took := c.Now().Sub(asked); took > passSoon {
		c.Errorf("started %s after a pass was asked for", took)
	}
	return d
}
