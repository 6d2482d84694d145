package execute

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/say"
	"github.com/sluice-hpc/sluice/slurm"
)

// startAfter makes the new launch fall in a strictly later second than the kill
// of the old one, without which slurmd refuses the credential. It also removes
// Slurm's own wait of two minutes after a requeue.
const startAfter = time.Second

// perform carries out one action. Every action may be repeated.
func (h *Hands) perform(ctx context.Context, a elastic.Action, job elastic.Job, now time.Time) error {
	observe.LetIn(h.Between)
	h.Tell(now, a.About(), "act", a.String(), event.OfAct(a))
	err := h.carryOut(ctx, a, job, now)
	h.ByID.Unanswered(a, err, now)
	if js := h.ByID[a.About()]; js != nil && errors.As(err, new(*observe.Unanswered)) {
		js.Mail.AnswersBy(err)
	}
	return err
}

func (h *Hands) carryOut(ctx context.Context, a elastic.Action, job elastic.Job, now time.Time) error {
	id := slurm.JobID(a.About())
	switch a := a.(type) {
	case elastic.AskCheckpoint:
		return h.ask(ctx, a, job, now)
	case elastic.WithdrawRequest:
		if token := h.ByID.TokenOf(a.Job); token != "" {
			return h.Mail.Withdraw(token)
		}
		return nil
	case elastic.RequeueHold:
		if err := h.stillWaits(job); err != nil {
			return err
		}
		return h.Slurm.RequeueHold(ctx, id)
	case elastic.Revive:
		return h.Slurm.Revive(ctx, id)
	case elastic.Clear:
		return h.Slurm.Clear(ctx, id)
	case elastic.HoldPending:
		h.ByID.MarkHold(a.Job, true)
		return h.Slurm.Hold(ctx, id)
	case elastic.Write:
		return h.write(ctx, a, job)
	case elastic.Release:
		h.ByID.MarkHold(a.Job, false)
		return h.Slurm.Release(ctx, id)
	case elastic.RequestPass:
		return h.requestPass(ctx, a, now)
	case elastic.Annotate:
		return h.annotate(ctx, a)
	}
	return fmt.Errorf("no such action: %T", a)
}

// stillWaits looks once more, right before a job is stopped for its move, whether its
// answer stands: a log, a disk or a file system that blocked may have let minutes pass
// since it was read, and a runner to which nobody comes lets its program train on.
func (h *Hands) stillWaits(job elastic.Job) error {
	js := h.ByID[job.ID]
	if js == nil || job.Phase != elastic.Running || job.Saved.Request == "" {
		return nil // a chore, or nothing that could train on
	}
	word, ok, err := h.Mail.RunnerNow(js.Rec.Token, js.Rec.UID)
	switch a := word.Answer; {
	case err != nil:
		return fmt.Errorf("looking whether it still waits: %w", err)
	case !ok || a == nil || a.Request != job.Saved.Request || a.Checkpoint != job.Saved.Checkpoint:
		return errors.New("it does not wait any more; what it did since its checkpoint would be lost")
	}
	return nil
}

// requestPass fails only where Slurm does not answer at all: a request that is refused, or
// that comes when the job has started, leaves the move as it is.
func (h *Hands) requestPass(ctx context.Context, a elastic.RequestPass, now time.Time) error {
	if js := h.ByID[a.Job]; js != nil {
		js.Placing.PassAsked = now
	}
	err := h.Slurm.RequestPass(ctx, slurm.JobID(a.Job))
	if err == nil || errors.Is(err, slurm.ErrControllerDown) || ctx.Err() != nil {
		return err
	}
	h.Tell(now, a.Job, "problem", fmt.Sprintf("could not %s: %v", a, err))
	return nil
}

func (h *Hands) ask(ctx context.Context, a elastic.AskCheckpoint, job elastic.Job, now time.Time) error {
	js := h.ByID[a.Job]
	if js == nil {
		return nil
	}
	err := h.Mail.Ask(js.Rec.Token, checkpoint.Request{
		Version: checkpoint.Version, Job: int64(a.Job), ID: a.Request, Incarnation: a.To, Restarts: js.Restarts(),
		Target: a.Target, Asked: now, Deadline: a.Deadline, Why: say.Reason(a.Why, now), Stop: a.Stop,
	})
	if err != nil || job.Spec.Signal == "" {
		return err
	}
	err = h.Slurm.Signal(ctx, slurm.JobID(a.Job), job.Spec.Signal, true)
	if errors.Is(err, slurm.ErrUnknownOutcome) {
		return nil // the request file stands beside the signal
	}
	return err
}

// write puts the new size on the held job, and tells the next run what it is
// before the run can start.
func (h *Hands) write(ctx context.Context, a elastic.Write, job elastic.Job) error {
	js := h.ByID[a.Job]
	if js == nil {
		return nil
	}
	if err := h.Mail.Withdraw(js.Rec.Token); err != nil {
		return err
	}
	target := checkpoint.Target{
		Version: checkpoint.Version, Job: int64(a.Job), Incarnation: a.To,
		Checkpoint: a.Checkpoint, GPUs: a.Target.GPUs(), Largest: job.Spec.Max,
	}
	if !a.AnyNodes {
		target.Split = a.Target
	}
	if err := h.Mail.Aim(js.Rec.Token, target); err != nil {
		return err
	}
	tag := js.Rec.Tag
	tag.Incarnation = a.To
	update := updateFor(a, job.Spec)
	if update.Partition, tag.Partition = h.Site.Within(&js.Shown.Slurm, js.Rec.Partition, update.Nodes, js.Placing.Fell, h.Seen.Nodes); tag.Partition != "" {
		if err := h.Journal.SaveJobs(ctx, []journal.JobRecord{js.Rec}); err != nil {
			return fmt.Errorf("keeping the partitions of job %d: %w", a.Job, err)
		}
	}
	comment := tag.String()
	update.Comment = &comment
	update.StartAfter = startAfter
	if err := h.Slurm.Update(ctx, slurm.JobID(a.Job), update); err != nil {
		return err
	}
	js.Rec.Tag, js.Dirty = tag, true
	return nil
}

// updateFor spells a placement the way Slurm can give it exactly: the same
// number on every node, or a total that it fills greedily in node order.
func updateFor(a elastic.Write, spec elastic.Spec) slurm.Update {
	u := slurm.Update{CPUs: max(len(a.Target), spec.CPUsPerGPU*a.Target.GPUs())}
	// Slurm refuses a count with a type where sbatch was told one without, so that of
	// several types none is named, but always nodes of the one that was chosen.
	if len(spec.Types) == 1 {
		u.GPUType = spec.Types[0]
	}
	if a.AnyNodes && len(spec.Types) < 2 {
		u.AnyNodes, u.NodeCount = true, len(a.Target)
	} else {
		u.Nodes = a.Target.Nodes()
	}
	if a.Target.Even() {
		u.GPUsPerNode = a.Target[0].GPUs
	} else {
		u.GPUsTotal = a.Target.GPUs()
	}
	return u
}

// annotate writes a user's standing order into the comment, where it survives
// the loss of the database.
func (h *Hands) annotate(ctx context.Context, a elastic.Annotate) error {
	js := h.ByID[a.Job]
	if js == nil {
		return nil
	}
	comment := js.Rec.Tag.String()
	err := h.Slurm.Update(ctx, slurm.JobID(a.Job), slurm.Update{Comment: &comment})
	if err == nil || errors.Is(err, slurm.ErrNotFound) || errors.Is(err, slurm.ErrWrongState) {
		js.PendingTag = false
		return nil
	}
	return err
}
