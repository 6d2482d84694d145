package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control"
	"github.com/sluice-hpc/sluice/slurm"
)

// waitPeriod is how often the end of a job is looked for. sluiced answers from
// memory; only without one is Slurm itself asked so often, about this one job.
const waitPeriod = 10 * time.Second

// waiter waits for one job to end. A move does not end it: that only takes the
// job back to pending.
type waiter struct {
	id     slurm.JobID
	daemon func(context.Context) (control.Report, error)
	slurm  func(context.Context, slurm.JobID) (slurm.Detail, error)
	period time.Duration
	say    func(string)
}

// wait returns once the job has ended, with its exit code as an error.
func (s *submission) wait(ctx context.Context, id slurm.JobID) error {
	client, err := slurmFor(s.site)
	if err != nil {
		return err
	}
	w := waiter{id: id, daemon: control.Dial(s.site.Paths.Socket).Report, slurm: client.Job, period: waitPeriod,
		say: func(text string) { warn(s.errs, text) }}
	return w.run(ctx)
}

func (w waiter) run(ctx context.Context) error {
	tick := time.NewTicker(w.period)
	defer tick.Stop()
	said := ""
	for {
		select {
		case <-ctx.Done():
			w.say(fmt.Sprintf("interrupted; job %d goes on (sluice cancel %d ends it)", w.id, w.id))
			return exitCode(130)
		case <-tick.C:
		}
		if !w.worthAsking(ctx) {
			continue
		}
		job, err := w.slurm(ctx, w.id)
		switch {
		case errors.Is(err, slurm.ErrNotFound):
			return fmt.Errorf("job %d ended, and Slurm has already forgotten how; see 'sacct -j %d'", w.id, w.id)
		case err != nil && ctx.Err() == nil:
			if err.Error() != said {
				said = err.Error()
				w.say("still waiting for job " + fmt.Sprint(w.id) + ": " + said)
			}
		case err == nil && job.State.Ended() && !job.Completing && !job.Requeued:
			return endCode(job)
		}
	}
}

// worthAsking reports whether Slurm should be asked: not while sluiced knows the
// job and says that it lives.
func (w waiter) worthAsking(ctx context.Context) bool {
	report, err := w.daemon(ctx)
	if err != nil || report.Blind != "" {
		return true
	}
	for _, job := range report.Jobs {
		if job.JobID == int64(w.id) {
			return job.Ended
		}
	}
	return true
}

// endCode is the job's exit code as sbatch --wait gives it, but that a job which
// did not complete is never a success.
func endCode(job slurm.Detail) error {
	switch {
	case job.State == slurm.Completed && job.ExitCode == 0 && job.ExitSignal == 0:
		return nil
	case job.ExitSignal != 0 || job.ExitCode == 0:
		return exitCode(1)
	}
	return exitCode(job.ExitCode)
}
