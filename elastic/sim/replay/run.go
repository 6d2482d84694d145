package replay

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

// begin is the wall clock's value at the start of every replay: any fixed date
// does, and it is the same in every run.
var begin = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// patience is how many rounds in a row may pass with jobs and without any work done before
// a replay fails: its policy starts no job, or resizes jobs before their restarts end.
const patience = 100_000

// Run replays the workload to its end. It fails if the policy or the placement is invalid (too
// many GPUs on a node, a size the job does not accept), if no job makes progress (see
// patience), or with ctx's error.
func Run(ctx context.Context, cfg Config, w workload.Workload) (Result, error) {
	if cfg.Interval <= 0 {
		return Result{}, fmt.Errorf("interval %v: must be above zero", cfg.Interval)
	}
	if len(cfg.Nodes) == 0 {
		return Result{}, fmt.Errorf("a cluster without nodes runs nothing")
	}
	r := newRound(cfg)
	next, stop := pull(w)
	defer stop()
	idle := 0
	for n := 0; ; n++ {
		if err := ctx.Err(); err != nil {
			return Result{}, err
		}
		if next.done && len(r.live) == 0 {
			break
		}
		if len(r.live) == 0 { // nothing to decide before the next arrival
			r.skipTo(next.job.Submit)
		}
		if err := r.arrivals(next); err != nil {
			return Result{}, err
		}
		if err := r.decide(); err != nil {
			return Result{}, fmt.Errorf("%s on %s, %v after the start: %w", cfg.Policy.Name, w.Name, r.now, err)
		}
		r.worked = cfg.Policy.OnEvents && r.busy > 0
		r.pass()
		if idle++; r.worked {
			idle = 0
		} else if idle > patience {
			return Result{}, fmt.Errorf("%s on %s: no work is done since %d rounds, at %v, though %d jobs are there; give them GPUs they accept, or a longer interval between decisions", cfg.Policy.Name, w.Name, idle, r.now, len(r.live))
		}
		if cfg.Progress != nil && n%64 == 0 {
			cfg.Progress(r.ended)
		}
	}
	return r.result(w), nil
}

// arrival is the next job of a workload.
type arrival struct {
	job  workload.Job
	done bool
	more func() (workload.Job, bool)
	n    int           // jobs handed out
	last time.Duration // submit of the last one
}

// skipTo moves an empty cluster to the round in which a job that comes at t is
// seen first.
func (r *round) skipTo(t time.Duration) {
	if late := t - r.now; late > 0 {
		r.now += (late + r.cfg.Interval - 1) / r.cfg.Interval * r.cfg.Interval
	}
}

// arrivals takes in the jobs that have come by now.
func (r *round) arrivals(next *arrival) error {
	for !next.done && next.job.Submit <= r.now {
		if next.job.Submit < next.last {
			return fmt.Errorf("job %d (%s) of the workload comes before the one listed ahead of it", next.n, next.job.Name)
		}
		next.last = next.job.Submit
		if err := r.take(next.job); err != nil {
			return err
		}
		next.step()
	}
	return nil
}
