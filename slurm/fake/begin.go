package fake

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// RequeueRunning stops a running job and leaves it pending, not held. A job that is not
// running is left unchanged, without an error ("scontrol requeue Incomplete").
func (s *Session) RequeueRunning(ctx context.Context, id slurm.JobID) error {
	return s.change(ctx, opRequeueRunning, id, func(j *job) *failure {
		if j.state != slurm.Running {
			return nil
		}
		return s.requeue(j, j.held, RequeuedBy)
	})
}

// RequeueFailed requeues a job that is FAILED and cleaned up; any other job is left
// unchanged.
func (s *Session) RequeueFailed(ctx context.Context, id slurm.JobID) error {
	return s.change(ctx, opRequeueFailed, id, func(j *job) *failure {
		if j.state != slurm.Failed || j.completing {
			return nil
		}
		return s.requeue(j, j.held, RequeuedBy)
	})
}

// RequeueLingering cancels a pending job that is still counted on nodes, then requeues it.
// A cancelled job is requeued; any other job is left unchanged.
func (s *Session) RequeueLingering(ctx context.Context, id slurm.JobID) error {
	return s.change(ctx, opRequeueLingering, id, func(j *job) *failure { return s.clear(j, j.held, RequeuedBy) })
}

// clear requeues a cancelled job, and one that is still counted on nodes after it was
// cancelled.
func (s *Session) clear(j *job, as hold, what string) *failure {
	switch {
	case j.state == slurm.Pending && !j.completing && len(j.counted) > 0:
		s.f.finish(j, slurm.Cancelled, Cause{What: CancelledBy, By: s.name})
	case j.state != slurm.Cancelled || j.completing:
		return nil
	}
	return s.requeue(j, as, what)
}

// Defer sets the begin time of a pending job, in whole seconds.
func (s *Session) Defer(ctx context.Context, id slurm.JobID, until time.Time) error {
	return s.change(ctx, opDefer, id, func(j *job) *failure {
		if !s.f.ahead(until) {
			return tooSoon()
		}
		return s.f.startAt(j, wholeSecond(until))
	})
}

// Start sets the begin time of a pending job to the next second.
func (s *Session) Start(ctx context.Context, id slurm.JobID) error {
	return s.change(ctx, opStart, id, func(j *job) *failure {
		return s.f.startAt(j, second(s.f.now).Add(time.Second))
	})
}

// StartFirst sets the begin time of a pending job to the present second.
func (s *Session) StartFirst(ctx context.Context, id slurm.JobID) error {
	return s.change(ctx, opStart, id, func(j *job) *failure {
		return s.f.startAt(j, second(s.f.now))
	})
}

// startAt writes StartTime. A job that is not held shows no reason until the next pass.
func (f *Fake) startAt(j *job, at time.Time) *failure {
	switch {
	case j.state.Ended():
		return finished()
	case j.state != slurm.Pending:
		return fail(slurm.ErrWrongState, "Job is no longer pending execution")
	}
	j.begin = at
	if j.held == notHeld && j.reason == "BeginTime" {
		j.reason = "None"
	}
	f.reconsider(j)
	return f.answered(j)
}

// ahead reports whether a begin time is far enough in the future for the command client.
func (f *Fake) ahead(at time.Time) bool { return at.Sub(f.now) > time.Second }

func tooSoon() *failure {
	return fail(slurm.ErrRefused, "a begin time must be more than a second ahead")
}

// wholeSecond rounds up.
func wholeSecond(t time.Time) time.Time {
	if whole := second(t); whole.Before(t) {
		return whole.Add(time.Second)
	}
	return t
}

// fenced is the begin time of a job while its size is written: the end of the fence, or, if
// the update sets no begin time, the job's own one where that is later.
func (f *Fake) fenced(j *job, u slurm.Update) time.Time {
	at := second(f.now).Add(fence)
	if u.StartAfter == 0 && u.StartAt.IsZero() && j.begin.After(at) {
		return j.begin
	}
	return at
}

// begin reads --begin: "now+N" with sbatch's units, or a date and time in UTC; any other
// value means now.
func (f *Fake) begin(value string) time.Time {
	if at, err := time.Parse("2006-01-02T15:04:05", value); err == nil {
		return at
	}
	var n int64
	var unit string
	rest, relative := strings.CutPrefix(value, "now+")
	if read, _ := fmt.Sscanf(rest, "%d%s", &n, &unit); !relative || read == 0 || n < 0 {
		return zero
	}
	for name, d := range map[string]time.Duration{"second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour} {
		if unit != "" && strings.HasPrefix(name+"s", unit) {
			return second(f.now).Add(time.Duration(n) * d)
		}
	}
	return second(f.now).Add(time.Duration(n) * time.Second)
}

// priority is the job's priority, with its age factor, whether or not it is held. Unlike
// slurmctld's it is computed at every look, not once in PriorityCalcPeriod.
func (f *Fake) priority(j *job) int64 {
	prio := j.prio
	if f.cfg.Priority != nil {
		prio = f.cfg.Priority(j.id, j.user, j.account)
	}
	if f.cfg.AgeWeight == 0 {
		return prio
	}
	since := j.submit
	if j.begin.After(since) {
		since = j.begin // age counts from the begin time on
	}
	until := f.now
	if j.state != slurm.Pending {
		until = j.start // only waiting jobs age
	}
	return prio + f.aging().After(until.Sub(since))
}

// fullAge is Slurm's default of PriorityMaxAge.
const fullAge = 7 * 24 * time.Hour
