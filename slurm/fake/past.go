package fake

import (
	"context"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

var _ slurm.Accountant = (*Session)(nil)

// Past returns the runs that Config.Accounting keeps, also of jobs no longer remembered.
func (s *Session) Past(ctx context.Context, ids []slurm.JobID, since time.Time) (out []slurm.PastRun, err error) {
	err = s.call(ctx, opPast, 0, func() *failure {
		if !s.f.cfg.Accounting {
			return nil
		}
		asked := make(map[slurm.JobID]bool, len(ids))
		for _, id := range ids {
			asked[id] = true
		}
		for _, r := range s.f.past {
			if asked[r.ID] && (r.End.IsZero() || !r.End.Before(since)) {
				r.Nodes = slices.Clone(r.Nodes)
				out = append(out, r)
			}
		}
		for _, j := range s.f.jobs {
			if asked[j.id] && j.booked() {
				out = append(out, s.f.openRun(j))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Keep adds runs of jobs that this fake never had, as from an earlier state of its
// slurmctld.
func (f *Fake) Keep(runs ...slurm.PastRun) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.past = append(f.past, runs...)
}

// book keeps how the job's run ended, as slurmdbd would. It MUST be called BEFORE the
// job's GPUs are freed.
func (f *Fake) book(j *job, state slurm.State) {
	if f.cfg.Accounting {
		f.past = append(f.past, f.pastRun(j, state))
	}
}

// requeuedState is slurmdbd's state for a run that was requeued.
func requeuedState(why Cause) slurm.State {
	if why.What == NodeFailed {
		return slurm.NodeFail
	}
	return slurm.Pending
}

// leaveOpen keeps the run of a live job that slurmctld forgot without an end, as slurmdbd
// does.
func (f *Fake) leaveOpen(j *job) {
	if f.cfg.Accounting && j.booked() {
		f.past = append(f.past, f.openRun(j))
	}
}

// booked reports whether slurmdbd has a run of the job that has not ended: it has none
// during the clean-up of the last one.
func (j *job) booked() bool { return !j.state.Ended() && !(j.requeued && j.completing) }

func (f *Fake) openRun(j *job) slurm.PastRun {
	r := f.pastRun(j, j.state)
	r.End = zero
	return r
}

func (f *Fake) pastRun(j *job, state slurm.State) slurm.PastRun {
	r := slurm.PastRun{ID: j.id, UID: f.uid(j.user), State: state, Submit: second(j.submit), End: second(f.now), Limit: f.limitOf(j)}
	if state.Ended() {
		r.ExitCode, r.ExitSignal = j.exitCode, j.exitSignal
	}
	if j.run == nil {
		return r
	}
	r.Start = second(j.start)
	for _, s := range j.split {
		r.Nodes = append(r.Nodes, s.Node)
		r.GPUs += s.GPUs
	}
	return r
}
