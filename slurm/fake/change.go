package fake

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// change runs a command for one job: the job must exist and the caller may change it.
func (s *Session) change(ctx context.Context, op string, id slurm.JobID, do func(*job) *failure) error {
	return s.call(ctx, op, id, func() *failure { return s.own(id, do) })
}

func (s *Session) own(id slurm.JobID, do func(*job) *failure) *failure {
	j := s.f.find(id)
	switch {
	case j == nil:
		return notFound()
	case j.user != s.user && !s.operator():
		return fail(slurm.ErrPermission, "Access/permission denied")
	}
	return do(j)
}

// fence is how far the command client delays a job's start while it writes a size;
// Update.StartAfter ends the delay.
const fence = 30 * time.Second

// Signal delivers a signal to a running job.
func (s *Session) Signal(ctx context.Context, id slurm.JobID, signal string, batchOnly bool) error {
	return s.change(ctx, opSignal, id, func(j *job) *failure {
		switch {
		case j.state == slurm.Pending:
			return fail(slurm.ErrWrongState, "Job can not be altered now, try again later")
		case j.state != slurm.Running:
			return notFound() // Slurm's own text for an ended job
		}
		if r := j.run; r != nil && !r.over {
			j.program.Signal(r, signal, batchOnly)
		}
		return nil
	})
}

// RequeueHold stops a running job and leaves it pending and held by its user. A job that
// is not running is left unchanged, without an error ("scontrol requeuehold Incomplete"):
// the plain form would requeue a cancelled job.
func (s *Session) RequeueHold(ctx context.Context, id slurm.JobID) error {
	return s.change(ctx, opRequeueHold, id, func(j *job) *failure {
		if j.state != slurm.Running {
			return nil
		}
		return s.requeue(j, userHold, RequeuedHeld)
	})
}

// Revive requeues and holds a job that is FAILED and cleaned up; any other job is left
// unchanged.
func (s *Session) Revive(ctx context.Context, id slurm.JobID) error {
	return s.change(ctx, opRevive, id, func(j *job) *failure {
		if j.state != slurm.Failed || j.completing {
			return nil
		}
		return s.requeue(j, userHold, RequeuedHeld)
	})
}

// Clear cancels a pending job that is still counted on nodes, then requeues and holds it.
// A cancelled job is requeued and held; any other job is left unchanged.
func (s *Session) Clear(ctx context.Context, id slurm.JobID) error {
	return s.change(ctx, opClear, id, func(j *job) *failure { return s.clear(j, userHold, RequeuedHeld) })
}

// Requeue is the plain "scontrol requeue" that people use, and not part of slurm.Client:
// a running job, or an ended one still remembered, becomes pending and starts after the
// requeue delay.
func (s *Session) Requeue(ctx context.Context, id slurm.JobID) error {
	return s.change(ctx, opRequeue, id, func(j *job) *failure {
		if j.state == slurm.Pending {
			return fail(slurm.ErrWrongState, "Job is pending execution")
		}
		return s.requeue(j, j.held, RequeuedBy)
	})
}

func (s *Session) requeue(j *job, as hold, what string) *failure {
	if !j.requeue {
		return fail(slurm.ErrRefused, "Requested operation is presently disabled")
	}
	j.held = as
	s.f.toQueue(j, Cause{What: what, By: s.name})
	return nil
}

// Hold sets a user hold, which the owner may lift. A running job goes on; it stays held
// once it is requeued. A job whose priority is already 0, for whatever reason, is left as
// it is, without an error even for callers that may not change it.
func (s *Session) Hold(ctx context.Context, id slurm.JobID) error {
	return s.call(ctx, opHold, id, func() *failure {
		if j := s.f.find(id); j != nil && !s.steady && (j.held != notHeld || j.reason == badConstraints) {
			return nil
		}
		return s.own(id, func(j *job) *failure { return cmp.Or(s.hold(j, userHold), s.f.answered(j)) })
	})
}

// AdminHold is the plain "scontrol hold" that people use, and not part of slurm.Client:
// set by an operator on another user's job, it is a hold that the owner may not lift.
func (s *Session) AdminHold(ctx context.Context, id slurm.JobID) error {
	return s.change(ctx, opAdminHold, id, func(j *job) *failure {
		if j.user != s.user && s.operator() {
			return s.hold(j, adminHold)
		}
		return s.hold(j, userHold)
	})
}

func (s *Session) hold(j *job, as hold) *failure {
	switch {
	case j.state.Ended():
		return finished()
	case s.operator():
	case j.held == adminHold:
		return fail(slurm.ErrPermission, "Access/permission denied")
	case j.reason == badConstraints:
		as = adminHold // the owner can hold it, but can then never release it
	}
	j.held = as
	j.reason = map[hold]string{userHold: "JobHeldUser", adminHold: "JobHeldAdmin"}[as]
	return nil
}

// Release lifts a hold; on a job that is not held it does nothing.
func (s *Session) Release(ctx context.Context, id slurm.JobID) error {
	return s.change(ctx, opRelease, id, func(j *job) *failure {
		switch {
		case j.state.Ended():
			return finished()
		case (j.held == adminHold || j.reason == badConstraints) && !s.operator():
			return fail(slurm.ErrPermission, "Access/permission denied")
		case j.held != notHeld || j.reason == badConstraints:
			j.held, j.prio = notHeld, s.f.nextPrio()
			j.reason = "None"
		}
		if j.state == slurm.Pending {
			s.f.wakeAt(j)
		}
		return s.f.answered(j)
	})
}

// Cancel ends the job. Cancelling a job that has ended, or that Slurm does not know, is
// no error: scancel prints nothing.
func (s *Session) Cancel(ctx context.Context, id slurm.JobID) error {
	return s.call(ctx, opCancel, id, func() *failure {
		j := s.f.find(id)
		if j == nil {
			return nil
		}
		if j.user != s.user && !s.operator() {
			return fail(slurm.ErrPermission, "Access/permission denied")
		}
		if !j.state.Ended() {
			s.f.finish(j, slurm.Cancelled, Cause{What: CancelledBy, By: s.name})
			s.f.schedule()
		}
		return nil
	})
}

// Update writes the fields that are set. Everything but the comment needs a pending job.
// A size that no set of nodes can provide is accepted, as in Slurm, and the job then
// waits indefinitely.
func (s *Session) Update(ctx context.Context, id slurm.JobID, u slurm.Update) error {
	return s.change(ctx, opUpdate, id, func(j *job) *failure {
		size := len(u.Nodes) > 0 || u.AnyNodes || u.NodeCount > 0 || u.GPUsPerNode > 0 || u.GPUsTotal > 0 || u.CPUs > 0
		switch starts := u.StartAfter != 0 || !u.StartAt.IsZero(); {
		case !u.StartAt.IsZero() && (u.StartAfter != 0 || !s.f.ahead(u.StartAt)):
			return tooSoon()
		case j.state.Ended():
			return finished()
		case (size || starts) && j.state != slurm.Pending:
			return fail(slurm.ErrWrongState, "Job is no longer pending execution")
		}
		if size && !s.steady {
			j.begin = s.f.fenced(j, u)
			if a := s.f.answered(j); a != nil {
				return a // the command client stops here too
			}
		}
		w, a := s.f.reshape(j.want, u)
		if a != nil {
			return a
		}
		if u.Partition != "" {
			j.parts = strings.Split(u.Partition, ",")
			j.part = j.parts[0]
		}
		j.want = w
		if u.CPUs > 0 {
			j.cpusWritten = s.operator() // the last writer decides
		}
		if u.StartAfter != 0 {
			j.begin = second(s.f.now).Add(u.StartAfter)
		}
		if !u.StartAt.IsZero() {
			j.begin = wholeSecond(u.StartAt)
		}
		if u.Comment != nil {
			j.comment = *u.Comment
		}
		s.f.reconsider(j)
		return s.f.answered(j)
	})
}

// SetStart writes StartTime as a user may by hand, without rounding up to the next
// second.
func (s *Session) SetStart(ctx context.Context, id slurm.JobID, at time.Time) error {
	return s.change(ctx, opUpdate, id, func(j *job) *failure {
		if j.state != slurm.Pending {
			return fail(slurm.ErrWrongState, "Job is no longer pending execution")
		}
		j.begin = second(at)
		s.f.reconsider(j)
		return nil
	})
}

// reconsider lets the scheduler try a pending job again after any change: a job that was
// held for an impossible request gets a priority again.
func (f *Fake) reconsider(j *job) {
	if j.state != slurm.Pending {
		return
	}
	if j.reason == badConstraints {
		j.reason, j.prio = "None", f.nextPrio()
	}
	f.wakeAt(j)
}

// reshape applies the update to the request.
func (f *Fake) reshape(w want, u slurm.Update) (want, *failure) {
	if a := f.knownNodes(u.Nodes); a != nil {
		return w, a
	}
	nodes := u.NodeCount
	if len(u.Nodes) > 0 {
		nodes, w.req = len(u.Nodes), slices.Clone(u.Nodes)
	}
	if u.AnyNodes {
		w.req = nil
	}
	if nodes > 0 {
		w.minNodes, w.maxNodes, w.tasks = nodes, nodes, nodes
		w.cpus = max(w.cpus, w.tasks*w.perTask)
	}
	if u.GPUType != "" && w.gpuType == "" {
		return w, fail(slurm.ErrRefused, "Invalid GRES specification (with and without type identification)")
	}
	if u.GPUsPerNode > 0 {
		w.perNode, w.total, w.gpuType = u.GPUsPerNode, 0, u.GPUType
	}
	if u.GPUsTotal > 0 {
		w.total, w.perNode, w.gpuType = u.GPUsTotal, 0, u.GPUType
	}
	if u.CPUs > 0 {
		w.cpus = u.CPUs
	}
	if w.total > 0 && w.total < w.minNodes {
		return w, fail(slurm.ErrRefused, "Invalid generic resource (gres) specification")
	}
	return w, nil
}

func finished() *failure { return fail(slurm.ErrWrongState, "Job has already finished") }
