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
	"github.com/sluice-hpc/sluice/elastic/engine/track"
	"github.com/sluice-hpc/sluice/elastic/say"
	"github.com/sluice-hpc/sluice/slurm"
)

// perform carries out one action. Every action is safe to repeat.
//
// Between is called BEFORE the action is logged and carried out, and may change the job's
// directives; the action is carried out all the same, and the next cycle follows the directive. job
// may have the ID alone for actions that need no more: all but AskCheckpoint, Requeue and Write.
// Whatever err is, the state records that a begin time may have been written and that a stop may
// still come.
func (x *Executor) perform(ctx context.Context, a elastic.Action, job elastic.Job, now time.Time) error {
	observe.LetIn(x.Between)
	x.Tell(now, a.About(), "act", a.String(), event.OfAct(a))
	err := x.carryOut(ctx, a, job, now)
	x.ByID.Unanswered(a, err, now)
	js := x.ByID[a.About()]
	if js == nil {
		return err
	}
	js.Shown.Begins.Wrote(a, now)
	if errors.As(err, new(*observe.Unanswered)) {
		js.Mail.AnswersBy(err)
	}
	return err
}

// carryOut does what perform says. Errors of Slurm are returned as they are, since failed compares
// them. What is written into the folder or the comment of a job that the state does not know is
// left out, without an error.
func (x *Executor) carryOut(ctx context.Context, a elastic.Action, job elastic.Job, now time.Time) error {
	id := slurm.JobID(a.About())
	switch a := a.(type) {
	case elastic.AskCheckpoint:
		return x.ask(ctx, a, job, now)
	case elastic.WithdrawRequest:
		if token := x.ByID.TokenOf(a.Job); token != "" {
			return x.Mail.Withdraw(token)
		}
		return nil
	case elastic.Requeue:
		if err := x.stillWaits(job); err != nil {
			return err
		}
		return x.Slurm.RequeueRunning(ctx, id)
	case elastic.RequeueFailed:
		return x.Slurm.RequeueFailed(ctx, id)
	case elastic.RequeueLingering:
		return x.Slurm.RequeueLingering(ctx, id)
	case elastic.CancelLane:
		return x.Slurm.Cancel(ctx, id)
	case elastic.Defer:
		return x.Slurm.Defer(ctx, id, a.Until)
	case elastic.Write:
		return x.write(ctx, a, job)
	case elastic.LetStart:
		return letStart(ctx, x.Slurm, x.ByID[a.Job], a)
	case elastic.Hold:
		return x.Slurm.Hold(ctx, id)
	case elastic.Release:
		return release(ctx, x.Slurm, x.ByID[a.Job], id)
	case elastic.RequestPass:
		return x.requestPass(ctx, a, now)
	case elastic.Annotate:
		return x.annotate(ctx, a)
	}
	return fmt.Errorf("no such action: %T", a)
}

// stillWaits checks again, right before a job is stopped for its move, that its answer is still
// valid. A log, disk or file system that blocked may have delayed the daemon by minutes since the
// answer was read, and a runner whose request gets no reaction lets its program continue. It
// returns nil if the answer stands. It is the last read BEFORE the stop.
func (x *Executor) stillWaits(job elastic.Job) error {
	js := x.ByID[job.ID]
	if js == nil || job.Phase != elastic.Running || job.Saved.Request == "" {
		return nil // not a move, or no program that could continue
	}
	word, ok, err := x.Mail.RunnerNow(js.Rec.Token, js.Rec.SlurmUID)
	switch a := word.Answer; {
	case err != nil:
		return fmt.Errorf("looking whether it still waits: %w", err)
	case !ok || a == nil || a.Request != job.Saved.Request || a.Checkpoint != job.Saved.Checkpoint:
		return errors.New("it does not wait any more; what it did since its checkpoint would be lost")
	}
	return nil
}

// requestPass fails only if Slurm does not answer at all. A request that Slurm refuses, for example
// because the job has started, does not affect the move.
func (x *Executor) requestPass(ctx context.Context, a elastic.RequestPass, now time.Time) error {
	if js := x.ByID[a.Job]; js != nil {
		js.Placing.PassAsked = now
	}
	err := x.Slurm.RequestPass(ctx, slurm.JobID(a.Job))
	if err == nil || errors.Is(err, slurm.ErrControllerDown) || ctx.Err() != nil {
		return err
	}
	x.Tell(now, a.Job, "problem", fmt.Sprintf("could not %s: %v", a, err))
	return nil
}

// ask writes the request file and then sends the job's own signal, if it has one. The file comes
// first: it has the request that the signal is about.
func (x *Executor) ask(ctx context.Context, a elastic.AskCheckpoint, job elastic.Job, now time.Time) error {
	js := x.ByID[a.Job]
	if js == nil {
		return nil
	}
	err := x.Mail.Ask(js.Rec.Token, checkpoint.Request{
		Version: checkpoint.Version, Job: int64(a.Job), ID: a.Request, Incarnation: a.To, Restarts: js.Restarts(),
		Target: a.Target, Asked: now, Deadline: a.Deadline, Why: say.Reason(a.Why, now), Stop: a.Stop,
	})
	if err != nil || job.Spec.Signal == "" {
		return err
	}
	err = x.Slurm.Signal(ctx, slurm.JobID(a.Job), job.Spec.Signal, true)
	if errors.Is(err, slurm.ErrUnknownOutcome) {
		return nil // the runner also reads the request file
	}
	return err
}

// letStart lets Slurm start the job. Slurm itself holds a job whose dependency could not be
// satisfied, also after that is over: it is released first. First is for a job that has never run:
// its begin time is the present second, and not the next (ARCHITECTURE.md, "A resize, crash by
// crash").
func letStart(ctx context.Context, c slurm.Client, js *track.Job, a elastic.LetStart) error {
	id := slurm.JobID(a.Job)
	if js != nil && js.Rec.Barred && js.Shown.Slurm.Held {
		if err := c.Release(ctx, id); err != nil {
			return err
		}
	}
	if a.First {
		return c.StartFirst(ctx, id)
	}
	return c.Start(ctx, id)
}

// release ends a user's hold. It stays wanted until Slurm has done it.
func release(ctx context.Context, c slurm.Client, js *track.Job, id slurm.JobID) error {
	err := c.Release(ctx, id)
	if js != nil && err == nil {
		js.Placing.Release = false
	}
	return err
}

// write sets the new size of the pending job in Slurm. BEFORE that it writes the target file of the
// next run, which may start as soon as the begin time has come.
//
// The ORDER is
//
//  1. withdraw the request, which was to the last run;
//  2. write the target file;
//  3. store the record with all partitions of the job, if Slurm will be given one of them: it is the
//     only copy then;
//  4. one update in Slurm: size, nodes, comment with the incarnation, and begin time, all or nothing.
//
// The new incarnation is in the record in memory only after 4; after a crash it is read from the
// comment and from the journal (Journal.Written).
func (x *Executor) write(ctx context.Context, a elastic.Write, job elastic.Job) error {
	js := x.ByID[a.Job]
	if js == nil {
		return nil
	}
	if err := x.Mail.Withdraw(js.Rec.Token); err != nil {
		return err
	}
	target := checkpoint.Target{
		Version: checkpoint.Version, Job: int64(a.Job), Incarnation: a.To,
		Checkpoint: a.Checkpoint, GPUs: a.Target.GPUs(), Largest: job.Spec.Max,
	}
	if !a.AnyNodes {
		target.Split = a.Target
	}
	target.Type = x.KindAt(&job.Spec, target.Split)
	if err := x.Mail.Aim(js.Rec.Token, target); err != nil {
		return err
	}
	tag := js.Rec.Tag
	tag.Incarnation = a.To
	update := updateFor(a, job.Spec)
	if update.Partition, tag.Partition = x.Site.Within(&js.Shown.Slurm, js.Rec.Partition, update.Nodes, js.Placing.Fell, x.Seen.Nodes); tag.Partition != "" {
		if err := x.Journal.SaveJobs(ctx, []journal.JobRecord{js.Rec}); err != nil {
			return fmt.Errorf("keeping the partitions of job %d: %w", a.Job, err)
		}
	}
	comment := tag.String()
	update.Comment = &comment
	update.StartAfter = a.Defer
	if err := x.Slurm.Update(ctx, slurm.JobID(a.Job), update); err != nil {
		return err
	}
	js.Rec.Tag, js.Dirty = tag, true
	return nil
}

// updateFor expresses a placement as an update that Slurm allocates exactly: GPUs per node if the
// split is even, else a total, which Slurm fills greedily in node order.
//
//	g1:4 g2:4    4 GPUs per node on g1 and g2
//	g1:4 g2:2    6 GPUs in all on g1 and g2
//
// The target MUST NOT be empty.
func updateFor(a elastic.Write, spec elastic.Spec) slurm.Update {
	u := slurm.Update{CPUs: max(len(a.Target), spec.CPUsPerGPU*a.Target.GPUs())}
	// Slurm refuses a GPU count with a type if sbatch was given one without. With several
	// acceptable types, no type is written; instead the nodes are always named, which have
	// the chosen type.
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

// annotate writes a user's directive into the job's comment, where it survives the loss of the
// journal. A job that Slurm does not know or that has ended needs none. After any other error it is
// tried again in the next cycle.
func (x *Executor) annotate(ctx context.Context, a elastic.Annotate) error {
	js := x.ByID[a.Job]
	if js == nil {
		return nil
	}
	comment := js.Rec.Tag.String()
	err := x.Slurm.Update(ctx, slurm.JobID(a.Job), slurm.Update{Comment: &comment})
	if err == nil || errors.Is(err, slurm.ErrNotFound) || errors.Is(err, slurm.ErrWrongState) {
		js.PendingTag = false
		return nil
	}
	return err
}
