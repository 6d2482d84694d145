package fake

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// refusal returns the answer that a fault puts in place of the call's own.
func refusal(op string, faults []Fault) *failure {
	for _, f := range faults {
		switch f.Kind {
		case LostRequest:
			return fail(slurm.ErrUnknownOutcome, "Socket timed out on send/recv operation")
		case Refused:
			return fail(slurm.ErrRefused, "Requested operation is presently disabled")
		case Denied:
			return fail(slurm.ErrPermission, "Access/permission denied")
		case Garbage:
			return fail(slurm.ErrGarbage, "\\x00\\xff")
		case Empty:
			if op != opJobs && op != opNodes {
				return fail(slurm.ErrGarbage, "empty answer")
			}
		}
	}
	return nil
}

func (f *Fake) strikeAll(faults []Fault, id slurm.JobID, after bool) {
	for _, fault := range faults {
		if fault.After == after {
			f.strike(fault, f.find(id))
		}
	}
}

// strike carries out a fault that is an event; j is the job of the call, if any.
func (f *Fake) strike(fault Fault, j *job) {
	switch fault.Kind {
	case Down:
		f.down(fault.For)
		return
	case NodeDown:
		f.nodeDown(fault.Node, "planned fault")
		return
	case NodeDrain:
		f.drainNode(fault.Node, "planned fault")
		return
	case NodeReturn:
		f.nodeReturn(fault.Node)
		return
	}
	if fault.Job != 0 {
		j = f.find(fault.Job)
	}
	if j == nil {
		return
	}
	user := &Session{f: f, user: j.user, name: j.user, steady: true, inside: true}
	ctx := context.Background()
	switch fault.Kind {
	case UserCancel:
		_ = user.Cancel(ctx, j.id)
	case UserHold:
		_ = user.Hold(ctx, j.id)
	case UserRelease:
		_ = user.Release(ctx, j.id)
	case UserRequeue:
		_ = user.Requeue(ctx, j.id)
	case UserSize:
		_ = user.Update(ctx, j.id, slurm.Update{AnyNodes: true, NodeCount: 1, GPUsPerNode: fault.GPUs})
	}
}

// Down makes slurmctld unreachable for d from now. Running jobs go on; the reports of the
// nodes are taken when it is back.
func (f *Fake) Down(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down(d)
}

func (f *Fake) down(d time.Duration) {
	until := f.now.Add(d)
	if !until.After(f.downUntil) {
		return
	}
	f.logf("slurmctld down for %s", d)
	f.downUntil = until
	f.events.push(until, func() {
		if f.now.Before(f.downUntil) {
			return // a longer outage began in the meantime
		}
		if do := f.recover; do != nil {
			f.recover = nil
			do()
		}
		f.logf("slurmctld up")
		reports := f.deferred
		f.deferred = nil
		for _, report := range reports {
			report()
		}
		f.schedule()
	})
}

// DownUntil is the time at which slurmctld answers again, or answered after its last
// outage; zero if there was none.
func (f *Fake) DownUntil() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.downUntil
}

// whenUp carries out do now, or when slurmctld is back.
func (f *Fake) whenUp(do func()) {
	if f.now.Before(f.downUntil) {
		f.deferred = append(f.deferred, do)
		return
	}
	do()
}

// delay returns the delay that faults add to the job's launch or drain.
func (f *Fake) delay(op string, j *job) time.Duration {
	f.counts[op]++
	var d time.Duration
	for _, fault := range f.cfg.Faults.due(op, f.counts[op]) {
		if fault.Kind == Slow && (fault.Job == 0 || fault.Job == j.id) {
			d += fault.For
		}
	}
	return d
}

// String formats the cause for the log; empty if the run ended by itself.
func (c Cause) String() string {
	if c.What == "" {
		return ""
	}
	return fmt.Sprintf(" (%s by %s)", c.What, c.By)
}

// String prints the request for the log.
func (w want) String() string {
	var b strings.Builder
	switch {
	case w.total > 0:
		fmt.Fprintf(&b, "gpus=%d", w.total)
	case w.perNode > 0:
		fmt.Fprintf(&b, "gpus-per-node=%d", w.perNode)
	default:
		b.WriteString("no gpus")
	}
	fmt.Fprintf(&b, " nodes=%d-%d cpus=%d", w.minNodes, w.maxNodes, w.cpus)
	if len(w.req) > 0 {
		fmt.Fprintf(&b, " on %s", strings.Join(w.req, ","))
	}
	if w.constraint != "" {
		fmt.Fprintf(&b, " with %s", w.constraint)
	}
	return b.String()
}

func splitText(split []slurm.GPUShare) string {
	parts := make([]string, len(split))
	for i, s := range split {
		parts[i] = fmt.Sprintf("%s:%d", s.Node, s.GPUs)
	}
	return strings.Join(parts, "+")
}
