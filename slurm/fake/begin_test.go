package fake_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// eligible is the time until the job's begin time.
func (c *cluster) eligible(id slurm.JobID) time.Duration {
	c.Helper()
	return c.job(id).Eligible.Sub(c.Now())
}

// TestAResizeWithoutAHold: a running job is requeued, deferred while it is COMPLETING, gets
// a size, and is started.
func TestAResizeWithoutAHold(t *testing.T) {
	c := start(t, fake.Config{})
	id := c.submit("--begin=now+2hours", "--requeue", "--gpus=1", "-N1")
	c.shows(id, "PENDING BeginTime")
	c.Advance(time.Minute)
	c.must(c.sluice.Start(ctx, id))
	c.shows(id, "PENDING None") // until the next pass
	c.Advance(2 * time.Second)
	c.shows(id, "RUNNING None gpu1:1")

	c.must(c.sluice.RequeueRunning(ctx, id))
	c.must(c.sluice.Defer(ctx, id, c.Now().Add(time.Hour)))
	c.shows(id, "PENDING None completing")
	c.Advance(time.Second)
	c.shows(id, "PENDING BeginTime")
	c.must(c.sluice.Update(ctx, id, slurm.Update{Nodes: []string{"gpu1", "gpu2"}, GPUsTotal: 6}))
	if in := c.eligible(id); in != time.Hour-time.Second {
		t.Errorf("eligible in %s", in)
	}
	c.must(c.sluice.Start(ctx, id))
	c.Advance(3 * time.Second)
	c.shows(id, "RUNNING None gpu1:4 gpu2:2")
	if d := c.job(id); d.Restarts != 1 || d.Held {
		t.Errorf("restarts=%d held=%t", d.Restarts, d.Held)
	}
}

// TestABeginTimeThatIsNotRenewed: a deferred job starts by itself at its begin time, and one
// that was requeued after the requeue delay.
func TestABeginTimeThatIsNotRenewed(t *testing.T) {
	c := start(t, fake.Config{RequeueDelay: 30 * time.Second, PassDelay: 3 * time.Second})
	waits, stopped := c.submit("--gpus=1"), c.submit("--gpus=2")
	c.must(c.alice.Defer(ctx, waits, c.Now().Add(time.Hour)))
	c.Advance(5 * time.Second)
	c.must(c.sluice.RequeueRunning(ctx, stopped))
	c.Advance(25 * time.Second)
	c.shows(stopped, "PENDING BeginTime")
	c.Advance(40 * time.Second) // the delay, and the backfill
	c.shows(stopped, "RUNNING None gpu1:2")
	c.Advance(time.Hour - 80*time.Second)
	if d := c.job(waits); d.State != slurm.Pending || !d.Deferred(c.Now()) {
		t.Errorf("%s, eligible %s", d.State, d.Eligible)
	}
	c.Advance(45 * time.Second)
	c.shows(waits, "RUNNING None gpu1:1")
}

func TestASizeWithoutABeginTimeIsFenced(t *testing.T) {
	c := start(t, fake.Config{})
	for ahead, want := range map[time.Duration]time.Duration{time.Hour: time.Hour, 10 * time.Second: 30 * time.Second} {
		id := c.submit(fmt.Sprintf("--begin=now+%d", int(ahead.Seconds())), "--gpus=1", "-N1")
		c.must(c.sluice.Update(ctx, id, slurm.Update{Nodes: []string{"gpu1"}, GPUsPerNode: 2}))
		if in := c.eligible(id); in != want {
			t.Errorf("eligible in %s, was in %s, want %s", in, ahead, want)
		}
		c.must(c.sluice.Update(ctx, id, slurm.Update{GPUsPerNode: 2, StartAt: c.Now().Add(5*time.Second + 1)}))
		if in := c.eligible(id); in != 6*time.Second {
			t.Errorf("eligible in %s, want 6 s", in)
		}
	}
}

func TestBeginTimesOfSbatch(t *testing.T) {
	c := start(t, fake.Config{})
	for value, want := range map[string]time.Duration{
		"now+60": time.Minute, "now+2hours": 2 * time.Hour, "now+3minutes": 3 * time.Minute, "now+1h": time.Hour,
		"now+1day": 24 * time.Hour, "now+2weeks": 14 * 24 * time.Hour, "2026-01-05T03:00:00": 3 * time.Hour,
	} {
		if in := c.eligible(c.submit("--begin="+value, "--gpus=1")); in != want {
			t.Errorf("%s: eligible in %s, want %s", value, in, want)
		}
	}
	for _, value := range []string{"now", "now+-5", "noon", "now+"} {
		if at := c.job(c.submit("--begin="+value, "--gpus=1")).Eligible; at.After(c.Now()) {
			t.Errorf("%s: eligible at %s", value, at)
		}
	}
}

// TestPriorityOrdersJobs: jobs start in the order of the configured priority and their age,
// which counts from the begin time on.
func TestPriorityOrdersJobs(t *testing.T) {
	base := map[string]int64{"alice": 1000, "bob": 3_000_000_000}
	c := start(t, fake.Config{
		Priority:  func(_ slurm.JobID, user, _ string) int64 { return base[user] },
		AgeWeight: 7000, MaxAge: 70 * time.Second,
	})
	full := c.submit("--gpus-per-node=4", "-N2")
	c.Advance(time.Second)
	early, late := c.submit("--gpus=8"), c.submit("--begin=now+20", "--gpus=8")
	bobs, _, err := c.bob.Submit(ctx, slurm.Submission{Args: []string{"--gpus=8"}, Stdin: []byte("sleep 10\n")})
	c.must(err)
	held := c.submit("--hold", "--gpus=8")
	running := c.job(full).Priority
	c.Advance(30 * time.Second)
	for id, want := range map[slurm.JobID]int64{early: 1000 + 3000, late: 1000 + 1000, bobs: 3_000_000_000 + 3000, held: 0, full: running} {
		if got := c.job(id).Priority; got != want {
			t.Errorf("job %d: priority %d, want %d", id, got, want)
		}
	}
	c.Advance(time.Minute)
	if got := c.job(early).Priority; got != 8000 {
		t.Errorf("priority %d at full age, want 8000", got)
	}
	c.must(c.alice.Cancel(ctx, full))
	c.Advance(2 * time.Second)
	c.shows(bobs, "RUNNING None gpu1:4 gpu2:4")
	c.Advance(12 * time.Second)
	c.shows(early, "RUNNING None gpu1:4 gpu2:4")
}

// TestFaultsOfBeginTimes: plans name each call of slurm.Deferrer.
func TestFaultsOfBeginTimes(t *testing.T) {
	for _, op := range fake.DeferOps() {
		plan := fake.MustParse(op + " #1: refused; " + op + " #2: lost-reply")
		if slices.Contains(fake.Ops(), op) || plan[0].On != op {
			t.Errorf("%q is read as %q", op, plan[0].On)
		}
		c := start(t, fake.Config{Faults: plan})
		id := c.submit("--gpus=1")
		c.Advance(time.Second)
		calls := map[string]func() error{
			"scontrol requeue incomplete":   func() error { return c.sluice.RequeueRunning(ctx, id) },
			"scontrol requeue failed":       func() error { return c.sluice.RequeueFailed(ctx, id) },
			"scontrol requeue pending":      func() error { return c.sluice.RequeueLingering(ctx, id) },
			"scontrol update starttime":     func() error { return c.sluice.Defer(ctx, id, c.Now().Add(time.Hour)) },
			"scontrol update starttime now": func() error { return c.sluice.Start(ctx, id) },
		}
		if err := calls[op](); !errors.Is(err, slurm.ErrRefused) {
			t.Errorf("%s: %v", op, err)
		}
		c.shows(id, "RUNNING None gpu1:1")
		if err := calls[op](); !errors.Is(err, slurm.ErrUnknownOutcome) {
			t.Errorf("%s: %v", op, err)
		}
		if n := c.Calls(op); n != 2 {
			t.Errorf("%s: counted %d times", op, n)
		}
	}
}
