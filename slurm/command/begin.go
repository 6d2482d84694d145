package command

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

const opRequeue = "scontrol requeue"

// RequeueRunning stops a running job and leaves it pending, not held.
//
// "Incomplete" restricts it to jobs that run: the plain form also requeues a job that has
// ended or was cancelled, so a job that its user cancels at that moment would come back.
// On 20.11 to 26.05 the restricted form does nothing, and reports no error, for a job that
// is pending, COMPLETING, cancelled, failed or completed.
func (c *Client) RequeueRunning(ctx context.Context, id slurm.JobID) error {
	return c.change(ctx, opRequeue, id, "scontrol", "requeue", "Incomplete", idArg(id))
}

// RequeueFailed is Revive without a hold: first a query, then the plain requeue, which also
// requeues an ended job. A job that was cancelled or has completed is never requeued.
func (c *Client) RequeueFailed(ctx context.Context, id slurm.JobID) error {
	return c.requeueFailed(ctx, id, "requeue")
}

// RequeueLingering is Clear without a hold.
func (c *Client) RequeueLingering(ctx context.Context, id slurm.JobID) error {
	return c.requeueLingering(ctx, id, "requeue")
}

// requeueFailed looks at the job and runs the verb, requeue or requeuehold, if it failed.
func (c *Client) requeueFailed(ctx context.Context, id slurm.JobID, verb string) error {
	op := "scontrol " + verb
	d, err := c.job(ctx, op, id)
	if err != nil {
		return err
	}
	if d.State != slurm.Failed || d.Completing {
		return nil
	}
	return c.change(ctx, op, id, "scontrol", verb, idArg(id))
}

// requeueLingering looks at the job and cancels it if it lingers; a cancelled job gets the
// verb, requeue or requeuehold.
func (c *Client) requeueLingering(ctx context.Context, id slurm.JobID, verb string) error {
	op := "scontrol " + verb
	d, err := c.job(ctx, op, id)
	switch {
	case err != nil:
		return err
	case d.Lingers():
		if err := c.change(ctx, "scancel", id, "scancel", "--state=PENDING", idArg(id)); err != nil {
			return err
		}
	case d.State != slurm.Cancelled || d.Completing:
		return nil
	}
	return c.change(ctx, op, id, "scontrol", verb, idArg(id))
}

// Defer sets the begin time of a pending job. slurmctld refuses it for a job in any other
// state (20.11 to 26.05), and checks that under the lock under which it starts jobs.
func (c *Client) Defer(ctx context.Context, id slurm.JobID, until time.Time) error {
	if err := c.inFuture(until); err != nil {
		return &slurm.Error{Op: opStartTime, JobID: id, Err: slurm.ErrRefused, Words: err.Error()}
	}
	return c.change(ctx, opStartTime, id, "scontrol", "update", "JobId="+idArg(id), startAt(until))
}

// Start sets the begin time of a pending job to the next second.
func (c *Client) Start(ctx context.Context, id slurm.JobID) error {
	return c.change(ctx, opStartTime, id, "scontrol", "update", "JobId="+idArg(id), startTime(time.Second))
}

// StartFirst sets the begin time of a pending job to the present second: a begin time that
// is past when slurmctld reads it is the present there (20.11 to 26.05).
func (c *Client) StartFirst(ctx context.Context, id slurm.JobID) error {
	return c.change(ctx, opStartTime, id, "scontrol", "update", "JobId="+idArg(id), "StartTime=now")
}

const opStartTime = "scontrol update"

// inFuture refuses a begin time that slurmctld could take as the present second.
func (c *Client) inFuture(at time.Time) error {
	if ahead := at.Sub(c.now()); ahead <= time.Second {
		return fmt.Errorf("a begin time must be more than a second ahead, not %v", ahead.Round(time.Millisecond))
	}
	return nil
}

// startAt is an absolute begin time in whole seconds, rounded up. scontrol reads it in its
// own time zone, which is UTC for every call (queryEnv), so that no hour occurs twice.
func startAt(at time.Time) string {
	whole := at.UTC().Truncate(time.Second)
	if whole.Before(at) {
		whole = whole.Add(time.Second)
	}
	return "StartTime=" + whole.Format("2006-01-02T15:04:05")
}
