package command

import (
	"context"

	"github.com/sluice-hpc/sluice/slurm"
)

// RequeueHold stops a running job and leaves it pending and held. Its owner may release
// it, whoever requested the hold (seen on 20.11 to 26.05; requested by the owner, by
// SlurmUser and by root).
//
// "Incomplete" restricts it to running jobs. The plain form also requeues a job that has
// ended or was cancelled, so a job that its user cancels at that moment would come back.
// On a job that is not running this does nothing and reports no error; the caller looks
// at the job in any case, because the change is complete only when COMPLETING is gone.
func (c *Client) RequeueHold(ctx context.Context, id slurm.JobID) error {
	return c.change(ctx, "scontrol requeuehold", id, "scontrol", "requeuehold", "Incomplete", idArg(id))
}

// Revive is for a job that Slurm calls FAILED though its program is not the cause: first
// a query, then the plain requeuehold, which also requeues an ended job. A job that was
// cancelled or has completed is never requeued.
func (c *Client) Revive(ctx context.Context, id slurm.JobID) error {
	return c.requeueFailed(ctx, id, "requeuehold")
}

// Clear is for a pending job that Slurm 20.11 and 22.05 (not 24.11) still count on the
// nodes of its last run: its last node was lost while it was COMPLETING. If it were
// started, it would get no GPUs, and the GPUs chosen for it would be counted as used
// until slurmctld restarts. Only cancelling and requeueing the job removes this.
func (c *Client) Clear(ctx context.Context, id slurm.JobID) error {
	return c.requeueLingering(ctx, id, "requeuehold")
}

// Hold keeps a pending job from starting, as a user hold that the owner may release, also
// when an operator requests it (uhold; the owner cannot release a plain hold by an
// operator). A job that is already held is left as it is, because uhold would weaken an
// administrator's hold to a user hold. On a running job the hold takes effect when the
// job is requeued.
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

// Release lifts a hold, also the one that RequeueHold leaves. An operator's release also
// lifts an administrator's hold: check Reason (JobHeldAdmin) first.
func (c *Client) Release(ctx context.Context, id slurm.JobID) error {
	return c.change(ctx, "scontrol release", id, "scontrol", "release", idArg(id))
}

// RequestPass makes slurmctld run its scheduler: on 20.11 to 26.05 any update does,
// within a second, or within batch_sched_delay of the pass before. Requeue=1 is already
// set on sluice's jobs; writing the comment instead could overwrite a change that the
// user just made.
func (c *Client) RequestPass(ctx context.Context, id slurm.JobID) error {
	return c.change(ctx, "scontrol update", id, "scontrol", "update", "JobId="+idArg(id), "Requeue=1")
}
