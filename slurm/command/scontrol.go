package command

import (
	"context"

	"github.com/sluice-hpc/sluice/slurm"
)

// RequeueHold stops a running job and leaves it pending and held, releasable by
// its owner whoever asked (seen on 20.11 to 26.05, asked by the owner, by
// SlurmUser and by root).
//
// "Incomplete" restricts it to jobs that run: the plain form also revives a job
// that has ended or was cancelled, so that a user who cancels his job at the
// wrong moment would see it come back. On a job that is not running this does
// nothing and reports no error; the caller looks at the job anyway, because
// the change is complete only when COMPLETING is gone.
func (c *Client) RequeueHold(ctx context.Context, id slurm.JobID) error {
	return c.change(ctx, "scontrol requeuehold", id, "scontrol", "requeuehold", "Incomplete", idArg(id))
}

// Revive is for a job that Slurm calls FAILED through no fault of its own: a look
// first, then the plain requeuehold, which also brings an ended job back. A user who
// cancelled his job, or whose job is done, never sees it again.
func (c *Client) Revive(ctx context.Context, id slurm.JobID) error {
	const op = "scontrol requeuehold"
	d, err := c.job(ctx, op, id)
	if err != nil {
		return err
	}
	if d.State != slurm.Failed || d.Completing {
		return nil
	}
	return c.change(ctx, op, id, "scontrol", "requeuehold", idArg(id))
}

// Clear is for a job that Slurm 20.11 and 22.05 (24.11 no more) still count on the
// nodes of its last run though it is pending: its last node was lost while it was
// COMPLETING. Started so, it would get no GPUs, and those chosen for it would be counted
// as used until slurmctld restarts. Only what brings an ended job back makes Slurm forget.
func (c *Client) Clear(ctx context.Context, id slurm.JobID) error {
	const op = "scontrol requeuehold"
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
	return c.change(ctx, op, id, "scontrol", "requeuehold", idArg(id))
}

// Hold keeps a pending job from starting, as a user hold that the owner may
// release himself, also when an operator asks (uhold; plain hold by an operator
// is one that the owner cannot lift). A job that is held already is left as it
// is, because uhold would weaken an administrator's hold into a user's. On a
// running job it takes effect when the job is requeued.
func (c *Client) Hold(ctx context.Context, id slurm.JobID) error {
	const op = "scontrol uhold"
	d, err := c.job(ctx, op, id)
	if err != nil {
		return err
	}
	if d.Held {
		return nil
	}
	return c.change(ctx, op, id, "scontrol", "uhold", idArg(id))
}

// Release lifts a hold, also the one RequeueHold leaves. An operator lifts an
// administrator's hold with it too: look at Reason (JobHeldAdmin) first.
func (c *Client) Release(ctx context.Context, id slurm.JobID) error {
	return c.change(ctx, "scontrol release", id, "scontrol", "release", idArg(id))
}

// RequestPass makes slurmctld run its scheduler: on 20.11 to 26.05 any update does,
// within a second, or within batch_sched_delay of the pass before. Requeue=1 is what
// sluice's jobs have; a comment written here could undo one that its user just wrote.
func (c *Client) RequestPass(ctx context.Context, id slurm.JobID) error {
	return c.change(ctx, "scontrol update", id, "scontrol", "update", "JobId="+idArg(id), "Requeue=1")
}
