package conform

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// RunPasses is Run with the promises about passes of the scheduler and about begin times
// only, for a subject with Slurm's default scheduling parameters: the other promises wait
// for many jobs.
func RunPasses(t *testing.T, s Subject) Score {
	return hold(t, s, slices.Concat(passes, begins, returns), promise{"a restarted slurmctld keeps begin times", 1, restarted})
}

// passSoon bounds the time until a requested pass: batch_sched_delay, one second of
// slurmctld's own loop, and 2 s for a busy machine.
const passSoon = 6 * time.Second

var passes = []promise{
	// With both partitions set, Slurm's main scheduler starts it in neither: its nodes do
	// not belong to all of its partitions. The backfill would, up to 30 s later.
	{"a job of two partitions that is set to one starts soon, and may be set to both again", 2, func(c *check) {
		first, second := c.partitionOf(c.nodes[:1], ""), c.partitionOf(c.nodes[1:], "")
		both := first.name + "," + second.name
		id := c.held(1, "--partition="+both)
		for _, to := range []struct {
			partition
			nodes []string
		}{{second, c.nodes[1:]}, {first, c.nodes[:1]}} {
			c.must(c.Operator.Update(c.ctx, id, slurm.Update{Partition: to.name, Nodes: to.nodes, GPUsPerNode: 1, CPUs: 1, StartAfter: time.Second}))
			c.must(c.Operator.Release(c.ctx, id))
			begin := c.job(id).Eligible
			for c.Now().Before(begin.Add(time.Second)) {
				c.Step()
			}
			asked := c.Now()
			if !isRunning(c.job(id)) {
				c.must(c.Operator.RequestPass(c.ctx, id))
			}
			c.runs(id)
			if took := c.Now().Sub(asked); took > passSoon {
				c.Errorf("started %s after a pass was asked for", took)
			}
			c.in(id, to.name)
			c.must(c.Operator.RequeueHold(c.ctx, id))
			c.pends(id)
			c.must(c.Operator.Update(c.ctx, id, slurm.Update{Partition: both}))
			c.in(id, both)
		}
	}},
	{"a job whose begin time has passed starts soon after a pass is asked for", 1, func(c *check) {
		for _, who := range []slurm.Client{c.Owner, c.Operator} {
			id := c.held(1)
			c.must(c.Owner.Update(c.ctx, id, slurm.Update{Nodes: c.nodes, GPUsPerNode: 1, CPUs: 1, StartAfter: 5 * time.Second}))
			c.must(c.Owner.Release(c.ctx, id))
			begin := c.job(id).Eligible
			for c.Now().Before(begin.Add(time.Second)) { // the pass requested by the release is over
				c.Step()
			}
			c.must(who.RequestPass(c.ctx, id))
			asked := c.Now()
			c.runs(id)
			if took := c.Now().Sub(asked); took > passSoon {
				c.Errorf("started %s after a pass was asked for", took)
			}
			c.must(c.Owner.Cancel(c.ctx, id))
			c.until(id, "ended", isOver)
		}
	}},
	{"asking for a pass changes nothing", 1, func(c *check) {
		held, running := c.held(1), c.running(long, 1)
		for _, id := range []slurm.JobID{held, running} {
			before := c.listed(id)
			c.must(c.Operator.RequestPass(c.ctx, id))
			c.stays(id, "as it was", func(slurm.Detail) bool {
				after := c.listed(id)
				after.TimeLeft, after.Start, before.TimeLeft, before.Start = 0, time.Time{}, 0, time.Time{}
				return reflect.DeepEqual(before, after)
			})
		}
	}},
	{"a pass can be requested by those who may change the job", 1, func(c *check) {
		id := c.held(1)
		c.fails("another user's request", c.Other.RequestPass(c.ctx, id), slurm.ErrPermission)
		c.must(c.Owner.Cancel(c.ctx, id))
		c.until(id, "ended", isOver)
		c.fails("a request for a job that has ended", c.Owner.RequestPass(c.ctx, id), slurm.ErrWrongState)
	}},
}
