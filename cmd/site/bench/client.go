package bench

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// pairs is how many pairs of commands are timed, in turn, so that other load on the machine
// affects both.
const pairs = 21

// queued is how many jobs are listed.
const queued = 1000

// submits times sluice submit and bare sbatch of the same script in turn.
func (b *bench) submits(ctx context.Context) error {
	path, _, err := b.script("submit")
	if err != nil {
		return err
	}
	ours, theirs, ratio, err := inTurn(
		func() error { _, err := b.Submit(ctx, "", "--hold", "--gpus=1", path); return err },
		func() error { _, err := b.Sbatch(ctx, "", "--hold", "--requeue", path); return err })
	if err != nil {
		return err
	}
	b.figure("submit_over_sbatch", ratio, "times", "sluice submit / sbatch of the same script in turn, median of %d pairs (%.0f ms / %.0f ms); wanted 1.5 at most",
		pairs, 1000*ours, 1000*theirs)
	return b.clear(ctx)
}

// queue times sluice queue and squeue of the same jobs in turn, both in their own format.
func (b *bench) queue(ctx context.Context) error {
	if err := b.clear(ctx); err != nil {
		return err
	}
	path, _, err := b.script("queue")
	if err != nil {
		return err
	}
	b.tell("submitting %d jobs to list", queued)
	for range queued {
		if _, err := b.Submit(ctx, "", "--hold", "--gpus=1", path); err != nil {
			return err
		}
	}
	err = site.Until(ctx, time.Minute, "sluiced to list them", func() (bool, error) {
		r, err := b.Control().Report(ctx)
		return err == nil && listed(r.Jobs) == queued, nil
	})
	if err != nil {
		return err
	}
	ours, theirs, ratio, err := inTurn(
		func() error { _, err := b.Run(ctx, "", "sluice", "queue"); return err },
		func() error { _, err := b.Run(ctx, "", "squeue"); return err })
	if err != nil {
		return err
	}
	b.figure("queue_over_squeue", ratio, "times", "sluice queue / squeue of the same %d held jobs in turn, median of %d pairs (%.0f ms / %.0f ms); wanted 1.0 at most",
		queued, pairs, 1000*ours, 1000*theirs)
	return b.clear(ctx)
}

// listed counts the jobs that sluice queue lists by default: those that have not ended.
func listed(jobs []wire.Job) (n int) {
	for i := range jobs {
		if !jobs[i].Ended {
			n++
		}
	}
	return n
}

// inTurn runs first and second in turn. It returns the median time of each, in seconds, and
// the median of the ratio first/second over all pairs.
func inTurn(first, second func() error) (ours, theirs, ratio float64, err error) {
	var as, bs, ratios []float64
	for range pairs {
		a, err := timed(first)
		if err != nil {
			return 0, 0, 0, err
		}
		b, err := timed(second)
		if err != nil {
			return 0, 0, 0, err
		}
		as, bs, ratios = append(as, a), append(bs, b), append(ratios, a/b)
	}
	return median(as), median(bs), median(ratios), nil
}

// timed returns the duration of do, in seconds.
func timed(do func() error) (float64, error) {
	start := time.Now()
	err := do()
	return time.Since(start).Seconds(), err
}
