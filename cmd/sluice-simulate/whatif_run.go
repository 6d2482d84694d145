package main

import (
	"context"
	"io"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

// whatif is a history and the results of its replays.
type whatif struct {
	options *whatifOptions
	history workload.History
	site    whatifSite
	before  outcome    // every job at the size it had
	after   [3]outcome // sluice: likely, jobs that scale worse, jobs that scale better
}

// outcome is the result of one replay.
type outcome struct {
	assume  workload.Assumption // zero for the baseline
	elastic int                 // jobs
	result  replay.Result
	workload.Figures
	idle float64 // share of the GPU time from the first submit to the last end
}

// run makes the four replays, as many in parallel as there are CPUs.
func (w *whatif) run(ctx context.Context, p policy.Policy, errs io.Writer) error {
	bar := newProgress(errs, 1+len(w.after))
	defer bar.clear()
	defer lessCollection()()
	slurm := backfill{}
	for _, r := range w.history.Runs {
		slurm.took = append(slurm.took, r.Took.Seconds())
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	base := replay.Config{Nodes: w.site.nodes, Policy: slurm.policy(), Interval: w.options.interval, Info: replay.Oracle}
	base.Limits = elastic.Limits{Payback: 1, ShareNodes: true}
	g.Go(func() (err error) {
		w.before, err = w.one(ctx, base, w.history.Fixed(), bar)
		return err
	})
	cfg := base
	cfg.Policy, cfg.Beside, cfg.Restart, cfg.Info, cfg.Limits.ShareNodes = p, slurm.beside, w.options.restart, replay.Learned, false
	worse, better := w.options.assume.Around()
	for i, a := range []workload.Assumption{w.options.assume, worse, better} {
		g.Go(func() error {
			jobs, err := w.history.Workload(a)
			if err != nil {
				return err
			}
			o, err := w.one(ctx, cfg, startedBySlurm(jobs, w.options.restart), bar)
			o.assume, o.elastic = a, w.history.ElasticRuns(a)
			w.after[i] = o
			return err
		})
	}
	return g.Wait()
}

// one makes one replay.
func (w *whatif) one(ctx context.Context, cfg replay.Config, jobs workload.Workload, bar *progress) (outcome, error) {
	part := bar.of(cfg.Policy.Name)
	cfg.Progress = part.start(jobs)
	defer part.end()
	res, err := replay.Run(ctx, cfg, jobs)
	if err != nil {
		return outcome{}, err
	}
	jct, wait := make([]time.Duration, len(res.Jobs)), make([]time.Duration, len(res.Jobs))
	for i, j := range res.Jobs {
		jct[i], wait[i] = j.JCT(), j.Wait()
	}
	o := outcome{result: res, Figures: workload.FiguresOf(jct, wait)}
	o.Span, o.GPUHours = res.Makespan, res.Useful/3600
	if all := res.Useful + res.Restarting + res.Idle; all > 0 {
		o.idle = res.Idle / all
	}
	return o, nil
}

// recordedIdle is the share of the site's GPU time that no job had, as far as the
// replayed jobs show.
func (w *whatif) recordedIdle(f workload.Figures) float64 {
	all := float64(w.site.gpus) * f.Span.Hours()
	if all <= 0 {
		return 0
	}
	return max(0, 1-f.GPUHours/all)
}

// felt is the minimum difference that counts, beside a tenth of a job's time.
const felt = time.Minute

// all lists the jobs, by index.
func (w *whatif) all() []int {
	out := make([]int, len(w.history.Runs))
	for i := range out {
		out[i] = i
	}
	return out
}

// compared counts those of some jobs that end earlier, and later, than at their own size, by
// at least a tenth of their time and one minute, and finds the largest loss.
func (w *whatif) compared(o outcome, of []int) (sooner, later int, most time.Duration) {
	for _, i := range of {
		j, before := o.result.Jobs[i], w.before.result.Jobs[i].JCT()
		lost := j.JCT() - before
		switch least := max(before/10, felt); {
		case lost <= -least:
			sooner++
		case lost >= least:
			later++
		}
		most = max(most, lost)
	}
	return sooner, later, most
}
