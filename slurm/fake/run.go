package fake

import (
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// Program is what a job's script does. Its methods are called with the fake's
// lock held, in virtual time: they use the Run, never the Fake or a Session.
type Program interface {
	// Start is the script's first line; it runs once per run of the job.
	Start(r *Run)
	// Signal is a signal from scancel; batchOnly when sent to the script alone.
	Signal(r *Run, signal string, batchOnly bool)
	// Stop is called when Slurm ends the run: its processes MUST be gone when it returns.
	// It is not called after Exit.
	Stop(r *Run, why Cause)
}

// Lingerer is a Program whose processes take some time to end; the job stays COMPLETING
// that much longer.
type Lingerer interface{ Linger() time.Duration }

// Causes of the end of a run, or of a job, other than its own exit.
const (
	RequeuedHeld = "requeuehold"
	RequeuedBy   = "requeue"
	CancelledBy  = "cancel"
	TimedOut     = "timeout"
	NodeFailed   = "node-fail"
	Revoked      = "credential-revoked" // launched in the same second as the kill
	NoOutput     = "no-output"          // its output file, below /nonexistent, could not be opened
	NoStep       = "no-step"            // launched while it was still counted on nodes of its last run
)

// Cause is why a run is stopped, and who requested it: a Session's name, or "slurmctld".
type Cause struct {
	What string
	By   string
}

// Run is one run of a job: from a launch to its end.
type Run struct {
	Job      slurm.JobID
	Name     string
	User     string
	UID      uint32
	Comment  string // as it was at the launch
	Restarts int
	Split    []slurm.GPUShare

	f             *Fake
	job           *job
	over          bool
	endUnreported bool // its script ended by itself while slurmctld was down
	timers        []*event
}

// Now returns the virtual time.
func (r *Run) Now() time.Time { return r.f.now }

// GPUs returns the size of the run.
func (r *Run) GPUs() int {
	n := 0
	for _, s := range r.Split {
		n += s.GPUs
	}
	return n
}

// After calls do in d, unless the run has ended by then. The returned function cancels
// it.
func (r *Run) After(d time.Duration, do func()) (cancel func()) {
	e := r.f.after(d, func() {
		if !r.over {
			do()
		}
	})
	r.timers = append(r.timers, e)
	return func() { e.dead = true }
}

// Exit ends the script: COMPLETED when code and signal are 0, else FAILED.
func (r *Run) Exit(code, signal int) {
	if r.over {
		return
	}
	r.stop()
	f, j := r.f, r.job
	r.endUnreported = f.now.Before(f.downUntil)
	f.whenUp(func() {
		if j.run != r || j.state != slurm.Running {
			return // killed meanwhile
		}
		j.exitCode, j.exitSignal = code, signal
		switch {
		case signal != 0:
			f.finish(j, slurm.Failed, Cause{})
			j.reason = "JobLaunchFailure"
		case code != 0:
			f.finish(j, slurm.Failed, Cause{})
			j.reason = "NonZeroExitCode"
		default:
			f.finish(j, slurm.Completed, Cause{})
		}
	})
}

// Log adds a line to the event log.
func (r *Run) Log(line string) { r.f.logf("job %d %s", r.Job, line) }

func (r *Run) stop() {
	r.over = true
	for _, e := range r.timers {
		e.dead = true
	}
	r.timers = nil
}

// launch starts the job on its nodes.
func (f *Fake) launch(j *job, shares []slurm.GPUShare, cpus []int) {
	f.take(j, shares, cpus)
	j.granted = f.limitOf(j)
	j.state, j.reason, j.start, j.end = slurm.Running, "None", f.now, zero
	j.exitCode, j.exitSignal = 0, 0
	r := &Run{Job: j.id, Name: j.name, User: j.user, UID: f.uid(j.user), Comment: j.comment,
		Restarts: j.restarts, Split: slices.Clone(j.split), f: f, job: j}
	j.run = r
	f.logf("job %d runs on %s restarts=%d", j.id, splitText(j.split), j.restarts)
	if !j.killed.IsZero() && !second(f.now).After(second(j.killed)) {
		r.After(f.cfg.Starting, func() {
			r.stop()
			j.exitCode = 1
			f.finish(j, slurm.Failed, Cause{What: Revoked, By: "slurmctld"})
		})
		return
	}
	if len(j.counted) > 0 {
		r.After(f.cfg.Starting, func() {
			r.stop()
			j.exitCode = 1
			f.finish(j, slurm.Failed, Cause{What: NoStep, By: "slurmctld"})
		})
		return
	}
	if strings.HasPrefix(j.stdout, "/nonexistent/") {
		r.After(f.cfg.Starting, func() {
			r.stop()
			j.exitSignal = slurm.LaunchIO
			f.finish(j, slurm.Failed, Cause{What: NoOutput, By: "slurmd"})
			j.reason = "JobLaunchFailure"
		})
		return
	}
	if j.granted > 0 {
		j.limitEv = f.after(j.granted, func() { f.timeOut(j, r) })
	}
	r.After(f.jittered(f.cfg.Starting)+f.delay("launch", j), func() { j.program.Start(r) })
}

func (f *Fake) timeOut(j *job, r *Run) {
	f.whenUp(func() {
		if j.run == r && j.state == slurm.Running {
			f.finish(j, slurm.Timeout, Cause{What: TimedOut, By: "slurmctld"})
		}
	})
}

// halt ends the present run, if there is one, and leaves the job COMPLETING for some
// time.
func (f *Fake) halt(j *job, why Cause) {
	if j.limitEv != nil {
		j.limitEv.dead, j.limitEv = true, nil
	}
	drain := f.jittered(f.cfg.Draining) + f.delay("drain", j)
	if r := j.run; r != nil && !r.over {
		r.stop()
		j.program.Stop(r, why)
		if l, ok := j.program.(Lingerer); ok {
			drain += l.Linger()
		}
	}
	j.run = nil
	j.killed = f.now
	j.completing = true
	j.drainEv = f.after(drain, func() { f.drained(j) })
}

// finish ends the job in a final state.
func (f *Fake) finish(j *job, state slurm.State, why Cause) {
	f.logf("job %d %s%s", j.id, state, why)
	f.ends = append(f.ends, End{At: f.now, Job: j.id, State: state, Why: why})
	f.book(j, state)
	if j.state == slurm.Running {
		f.halt(j, why)
	} else if j.start.IsZero() {
		j.start = f.now
	}
	j.state, j.end, j.requeued = state, f.now, false
	j.next = nil
	if slices.ContainsFunc(f.jobs, func(o *job) bool { return len(o.depends) > 0 }) {
		f.after(min(dependRenewal, f.cfg.MinJobAge), f.renew)
	}
	f.after(f.cfg.MinJobAge, func() { f.forget(j) })
}

// toQueue stops the running job and requeues it.
func (f *Fake) toQueue(j *job, why Cause) {
	f.logf("job %d requeued%s", j.id, why)
	if j.state == slurm.Running {
		f.book(j, requeuedState(why))
		f.halt(j, why)
	}
	if j.state.Ended() {
		j.counted = nil
	}
	j.state, j.requeued, j.ranOn = slurm.Pending, true, nil
	j.restarts++
	switch {
	case why.What == RequeuedHeld:
		j.reason = "job requeued in held state"
	case j.held == notHeld:
		j.reason = "None"
	}
	j.next = func() {
		j.requeued = false
		j.submit = f.now
		if !j.begin.After(f.now) {
			j.begin = second(f.now).Add(f.cfg.RequeueDelay)
		}
		f.logf("job %d pending again", j.id)
		f.wakeAt(j)
	}
	if !j.completing {
		do := j.next
		j.next = nil
		do()
	}
}

// drained is the end of COMPLETING.
func (f *Fake) drained(j *job) {
	f.whenUp(func() {
		if !j.completing {
			return
		}
		j.drainEv.dead = true
		j.completing = false
		f.give(j)
		if j.next != nil {
			do := j.next
			j.next = nil
			do()
		}
		f.schedule()
	})
}

// forget removes an ended job.
func (f *Fake) forget(j *job) {
	if !j.state.Ended() || f.now.Sub(j.end) < f.cfg.MinJobAge {
		return // requeued in the meantime
	}
	f.jobs = slices.DeleteFunc(f.jobs, func(o *job) bool { return o == j })
	f.logf("job %d forgotten", j.id)
}
