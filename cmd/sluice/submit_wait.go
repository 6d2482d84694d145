package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/cmd/reach"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/slurm"
)

// How often the end of a job is checked. Reading the runner's note in the job's folder
// costs almost nothing; sluiced answers from memory; Slurm itself is queried only if one
// of them reports that the job has ended, or if there is neither.
const (
	waitPeriod = 2 * time.Second
	waitEach   = 10 * time.Millisecond // for each job, if that is longer
	slowly     = 5                     // periods between two queries of sluiced
	insist     = 3                     // how often Slurm is queried in a row after the runner's last note
)

// waiter waits for one job to end. A resize does not end it: the job only becomes pending
// again.
type waiter struct {
	id     slurm.JobID
	runner func() time.Time // time of the script's end, from the runner; zero while it has not ended
	daemon func(context.Context) (wire.Report, error)
	slurm  func(context.Context, slurm.JobID) (slurm.Detail, error)
	past   func(context.Context, slurm.JobID) (slurm.PastRun, bool) // how it ended, from Slurm's accounting
	period time.Duration
	say    func(string)

	exited time.Time // the runner's last note
	asks   int       // remaining queries of Slurm
	said   string    // the last error printed
}

// wait returns once the jobs have ended, with the highest of their exit codes as an
// error.
func (s *submission) wait(ctx context.Context, made []handedIn) error {
	client, err := slurmFor(s.site)
	if err != nil {
		return err
	}
	daemon, err := reach.Dial(s.site)
	if err != nil {
		return err
	}
	period := max(waitPeriod, time.Duration(len(made))*waitEach)
	reports, says := sharedReport{ask: daemon.Report, fresh: period}, sync.Mutex{}
	ends, handed, uid := make([]error, len(made)), time.Now(), uint32(os.Getuid())
	if s.handed() {
		if uid, err = s.site.Data.UID(); err != nil {
			return err
		}
	}
	var all sync.WaitGroup
	for i, m := range made {
		w := waiter{
			id:     m.id,
			runner: func() time.Time { return scriptEnded(m.folder) },
			daemon: reports.report,
			slurm:  client.Job,
			past: func(ctx context.Context, id slurm.JobID) (slurm.PastRun, bool) {
				runs, err := client.Past(ctx, []slurm.JobID{id}, handed.Add(-time.Hour))
				if err != nil {
					return slurm.PastRun{}, false
				}
				return slurm.LastRun(runs, uid, handed)
			},
			period: period,
			say: func(text string) {
				says.Lock()
				defer says.Unlock()
				if len(made) == 1 || ctx.Err() == nil {
					terminal.Warn(s.errs, text)
				}
			},
		}
		all.Go(func() { ends[i] = w.run(ctx) })
	}
	all.Wait()
	if ctx.Err() != nil && len(made) > 1 {
		terminal.Warn(s.errs, fmt.Sprintf("interrupted; jobs %s continue ('scancel %s' ends them)", ranges(ids(made)), joined(ids(made), " ")))
	}
	return s.worst(ends)
}

// worst is the highest exit code; other errors are printed.
func (s *submission) worst(ends []error) error {
	if len(ends) == 1 {
		return ends[0]
	}
	worst := terminal.ExitCode(0)
	for _, err := range ends {
		var code terminal.ExitCode
		if err != nil && !errors.As(err, &code) {
			terminal.Complain(s.errs, err)
			code = 1
		}
		worst = max(worst, code)
	}
	if worst == 0 {
		return nil
	}
	return worst
}

// sharedReport makes one query for all callers at about the same time.
type sharedReport struct {
	ask   func(context.Context) (wire.Report, error)
	fresh time.Duration

	mu   sync.Mutex
	at   time.Time
	last wire.Report
	err  error
}

func (r *sharedReport) report(ctx context.Context) (wire.Report, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.at) >= r.fresh {
		r.last, r.err = r.ask(ctx)
		r.at = time.Now()
	}
	return r.last, r.err
}

// scriptEnded reads from the job's folder when its script ended; zero if it has not, or
// unknown.
func scriptEnded(folder string) time.Time {
	word, err := runnerWord(folder)
	if err != nil || word.Exit == nil {
		return time.Time{}
	}
	return word.Exit.At
}

// runnerWord reads the runner's note in the job's folder.
func runnerWord(folder string) (checkpoint.Runner, error) {
	dir, err := checkpoint.OpenDir(folder)
	if err != nil {
		return checkpoint.Runner{}, err
	}
	defer dir.Close()
	data, err := dir.Read(checkpoint.RunnerFile, 64<<10)
	if err != nil {
		return checkpoint.Runner{}, err
	}
	return checkpoint.ParseRunner(data)
}

func (w *waiter) run(ctx context.Context) error {
	tick := time.NewTicker(w.period)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			w.say(fmt.Sprintf("interrupted; job %d continues ('sluice cancel %d' ends it)", w.id, w.id))
			return terminal.ExitCode(130)
		case <-tick.C:
		}
		if w.heard() || n%slowly == 0 && w.worthAsking(ctx) {
			if done, err := w.ask(ctx); done {
				return err
			}
		}
	}
}

// heard reports whether the runner has reported something new for which Slurm should be
// queried. The script may have been stopped for a resize.
func (w *waiter) heard() bool {
	if at := w.runner(); !at.Equal(w.exited) {
		w.exited, w.asks = at, insist
	}
	if w.exited.IsZero() || w.asks == 0 {
		return false
	}
	w.asks--
	return true
}

// ask queries Slurm, and reports whether the job has ended.
func (w *waiter) ask(ctx context.Context) (done bool, err error) {
	job, err := w.slurm(ctx, w.id)
	switch {
	case errors.Is(err, slurm.ErrNotFound):
		if run, ok := w.past(ctx, w.id); ok {
			return true, endCode(slurm.Detail{Job: slurm.Job{State: run.State, ExitCode: run.ExitCode, ExitSignal: run.ExitSignal}})
		}
		return true, fmt.Errorf("job %d ended, and Slurm no longer remembers how; see 'sacct -j %d'", w.id, w.id)
	case err != nil:
		if ctx.Err() == nil && err.Error() != w.said {
			w.said = err.Error()
			w.say(fmt.Sprintf("still waiting for job %d: %s", w.id, w.said))
		}
		return false, nil
	case job.State.Ended() && !job.Completing && !job.Requeued:
		return true, endCode(job)
	}
	return false, nil
}

// worthAsking reports whether Slurm should be queried: not while sluiced reports that the
// job is alive.
func (w *waiter) worthAsking(ctx context.Context) bool {
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

// endCode is the job's exit code as sbatch --wait returns it, except that a job that did
// not complete is never a success.
func endCode(job slurm.Detail) error {
	switch {
	case job.State == slurm.Completed && job.ExitCode == 0 && job.ExitSignal == 0:
		return nil
	case job.ExitSignal != 0 || job.ExitCode == 0:
		return terminal.ExitCode(1)
	}
	return terminal.ExitCode(job.ExitCode)
}
