package conform

import (
	"errors"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// accounting are the promises about what slurmdbd keeps of jobs: sluice asks it how jobs
// ended that slurmctld has forgotten.
var accounting = []promise{
	{"accounting tells how a job ended, and when", 1, func(c *check) {
		a := c.account("")
		before := c.Now()
		completed, failed := c.submit("#!/bin/sh\nexit 0\n", a), c.submit(failing, a)
		c.ends(completed, slurm.Completed)
		shown := c.ends(failed, slurm.Failed)
		if r := c.past(completed, 1)[0]; r.State != slurm.Completed || r.ExitCode != 0 {
			c.Errorf("completed: %+v", r)
		}
		r := c.past(failed, 1)[0]
		if r.State != slurm.Failed || r.ExitCode != 3 || r.ExitSignal != 0 || r.UID != shown.UID && r.UID != 0 {
			c.Errorf("exit 3 of user %d: %+v", shown.UID, r)
		}
		if !r.Submit.Equal(shown.Submit) || !r.Start.Equal(shown.Start) || !r.End.Equal(shown.End) || !slices.Equal(r.Nodes, c.nodes) {
			c.Errorf("submit %v start %v end %v on %v, want %v, %v, %v on %v", r.Submit, r.Start, r.End, r.Nodes, shown.Submit, shown.Start, shown.End, c.nodes)
		}
		c.pastSince(failed, before.Add(-time.Minute), 1)
		c.pastSince(failed, r.End.Add(time.Second), 0)
	}},
	{"accounting reports which job was cancelled, and whether it had run", 1, func(c *check) {
		a := c.account("")
		ran, never := c.running(long, 2, a, "--time=5"), c.held(1, a)
		c.must(c.Owner.Cancel(c.ctx, ran))
		c.must(c.Owner.Cancel(c.ctx, never))
		c.ends(ran, slurm.Cancelled)
		c.ends(never, slurm.Cancelled)
		if r := c.past(ran, 1)[0]; r.State != slurm.Cancelled || r.GPUs != 2 || r.UID != 0 && r.Limit != 5*time.Minute || !slices.Equal(r.Nodes, c.nodes) {
			c.Errorf("after 2 GPUs on %v: %+v", c.nodes, r)
		}
		if r := c.past(never, 1)[0]; r.State != slurm.Cancelled || len(r.Nodes) > 0 || r.End.IsZero() {
			c.Errorf("never started: %+v", r)
		}
		c.pastSince(never, c.past(never, 1)[0].End, 1)
	}},
	{"accounting has every run of a job that is requeued", 1, func(c *check) {
		id := c.running(long, 1, c.account(""))
		c.stays(id, "running", isRunning) // for a shorter run 20.11 may keep nothing
		c.must(c.Owner.RequeueHold(c.ctx, id))
		c.pends(id)
		c.must(c.Owner.Update(c.ctx, id, slurm.Update{StartAfter: time.Second}))
		c.must(c.Owner.Release(c.ctx, id))
		c.runs(id)
		c.must(c.Owner.Cancel(c.ctx, id))
		c.ends(id, slurm.Cancelled)
		runs := c.past(id, 2)
		first, second := runs[0], runs[1]
		if first.State.Ended() || second.State != slurm.Cancelled || len(second.Nodes) != 1 {
			c.Errorf("%+v, then %+v", first, second)
		}
		if gap := second.Submit.Sub(first.End); gap < 0 || gap > 30*time.Second {
			c.Errorf("submitted again %v after the requeue", gap)
		}
		if first.Start.IsZero() || second.Start.Before(first.End) {
			c.Errorf("%+v, then %+v", first, second)
		}
	}},
	{"accounting has a live job without an end, and reports no unknown job", 1, func(c *check) {
		id := c.running(long, 1, c.account(""))
		for end := c.Now().Add(c.Patience); ; c.Step() {
			runs := c.ask(c.Now(), id, 1<<30)
			if len(runs) == 1 && runs[0].ID == id && runs[0].State == slurm.Running && runs[0].End.IsZero() {
				return
			}
			if c.Now().After(end) {
				c.Fatalf("%+v", runs)
			}
		}
	}},
}

// ask asks accounting about the jobs, as the operator.
func (c *check) ask(since time.Time, ids ...slurm.JobID) []slurm.PastRun {
	c.Helper()
	accountant, ok := c.Operator.(slurm.Accountant)
	if !ok {
		c.Fatal("no slurm.Accountant")
	}
	runs, err := accountant.Past(c.ctx, ids, since)
	if errors.Is(err, slurm.ErrDatabaseDown) {
		return nil // it may be busy; the check asks again
	}
	c.must(err)
	slices.SortFunc(runs, func(a, b slurm.PastRun) int { return a.Submit.Compare(b.Submit) })
	return runs
}

// past waits until accounting has that many ended runs of the job: slurmctld forwards
// them with a delay.
func (c *check) past(id slurm.JobID, many int) []slurm.PastRun {
	c.Helper()
	return c.pastSince(id, c.Now().Add(-time.Hour), many)
}

func (c *check) pastSince(id slurm.JobID, since time.Time, many int) []slurm.PastRun {
	c.Helper()
	for end := c.Now().Add(c.Patience); ; c.Step() {
		runs := c.ask(since, id)
		open := slices.ContainsFunc(runs, func(r slurm.PastRun) bool { return r.End.IsZero() })
		if len(runs) == many && !open {
			return runs
		}
		if c.Now().After(end) {
			c.Fatalf("job %d has %d runs in accounting since %v, want %d: %+v", id, len(runs), since, many, runs)
		}
	}
}
