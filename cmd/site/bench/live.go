package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/sim/whole"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

// LiveOptions are the options of a live comparison. The zero value of a field means the
// default in its comment.
type LiveOptions struct {
	Bin      string   // directory of sluice and sluiced
	Root     string   // tree of another Slurm release; "" = this machine's
	Workload string   // for workload.Generate; "w2@10m"
	Seed     uint64   // 1
	Jobs     int      // 20
	Faster   float64  // speed-up of the workload's times; 60 makes minutes seconds
	Policies []string // fcfs, ef, knapsack, lookahead
	Rounds   int      // resizes that measure the resize cost on this machine; 5
	Figures  io.Writer
	Story    io.Writer
}

func (o LiveOptions) withDefaults() LiveOptions {
	o.Workload, o.Seed, o.Jobs = cmp.Or(o.Workload, "w2@10m"), cmp.Or(o.Seed, 1), cmp.Or(o.Jobs, 20)
	o.Faster, o.Rounds = cmp.Or(o.Faster, 60), cmp.Or(o.Rounds, 5)
	if len(o.Policies) == 0 {
		o.Policies = []string{"fcfs", "ef", "knapsack", "lookahead"}
	}
	return o
}

// within is the maximum difference between a measured mean and the predicted one.
const within = 0.15

// live is one comparison.
type live struct {
	o     LiveOptions
	jobs  workload.Workload
	price elastic.Price // resize cost, measured in the calibration
	times whole.Times   // parameters that give a simulated resize the same cost
	slurm string        // release
}

// Live runs the same jobs under one policy after the other, on a real Slurm with a real
// daemon, and prints each mean completion time beside the one predicted beforehand. Jobs
// are real; only their GPU work is emulated: they sleep as long as it would take. An
// unknown policy is left out with a message. The error says what could not be measured; a
// wrong prediction is a figure, not an error.
func Live(ctx context.Context, o LiveOptions) error {
	l := &live{o: o.withDefaults()}
	var err error
	l.jobs, err = workload.Generate(l.o.Workload, l.o.Seed, workload.Options{Jobs: l.o.Jobs})
	if err != nil {
		return err
	}
	l.jobs = hasten(l.jobs, l.o.Faster)
	l.tell("%s, seed %d: %d jobs, %g times faster than it says. %s", l.jobs.Name, l.jobs.Seed, l.jobs.Count, l.o.Faster, l.jobs.Note)
	l.tell("GPU work is emulated: each job sleeps as long as it would take on the GPUs it has")
	if err := l.calibrate(ctx); err != nil {
		return fmt.Errorf("measuring what a move costs: %w", err)
	}
	var errs []error
	for _, name := range l.o.Policies {
		p, err := policy.ByName(name)
		if err != nil {
			l.tell("SKIPPED %s: %v", name, err)
			continue
		}
		if err := l.compare(ctx, p); err != nil {
			l.tell("FAILED %s: %v", name, err)
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// compare predicts, then measures, one policy.
func (l *live) compare(ctx context.Context, p policy.Policy) error {
	said, err := l.predict(ctx, p)
	if err != nil {
		return err
	}
	l.tell("%s: predicted mean JCT %.1f s (%.1f to %.1f) and %.2f restarts a job by the whole engine, %.1f s and %.2f by a replay; now for real, about %.0f s",
		p.Name, said.whole, said.least, said.most, said.wholeRestarts, said.replay, said.replayRestarts, said.makespan)
	got, err := l.measure(ctx, p, time.Duration(2*said.makespan)*time.Second+2*time.Minute)
	if err != nil {
		return err
	}
	for i, j := range got.jobs {
		l.tell("%s: job%d took %v, predicted %v", p.Name, i+1, j, said.jobs[i])
	}
	l.figures(p.Name, said, got)
	return nil
}

// figures prints one line per policy.
func (l *live) figures(name string, said prediction, got measured) {
	verdict := fmt.Sprintf("within %g%%", 100*within)
	if math.Abs(got.jct/said.whole-1) > within || math.Abs(got.jct/said.replay-1) > within {
		verdict = fmt.Sprintf("NOT within %g%% of both", 100*within)
	}
	fmt.Fprintf(l.o.Figures, "figure: live_%s_measured_over_predicted %.3f times  # Slurm %s, %s seed %d at %gx, %d jobs with emulated GPU work: "+
		"mean JCT %.1f s measured, %.1f s (%.1f to %.1f) predicted by the whole engine, %.1f s (%.3f times) by a replay: %s; %.2f restarts a job (predicted %.2f, %.2f), a move took %.1f s (%.1f s when calibrated)\n",
		name, got.jct/said.whole, l.slurm, l.jobs.Name, l.jobs.Seed, l.o.Faster, l.jobs.Count,
		got.jct, said.whole, said.least, said.most, said.replay, got.jct/said.replay, verdict,
		got.restarts, said.wholeRestarts, said.replayRestarts, got.price.Total().Seconds(), l.price.Total().Seconds())
}

func (l *live) tell(format string, args ...any) {
	fmt.Fprintf(l.o.Story, "live: "+format+"\n", args...)
}

// hasten returns the workload with all times divided: arrivals and work.
func hasten(w workload.Workload, by float64) workload.Workload {
	jobs := w.Jobs
	w.Jobs = func(yield func(workload.Job) bool) {
		for j := range jobs {
			j.Submit = time.Duration(float64(j.Submit) / by)
			j.Deadline = time.Duration(float64(j.Deadline) / by)
			j.Speeds = faster{j.Speeds, by}
			if !yield(j) {
				return
			}
		}
	}
	return w
}

// faster is a job's speeds multiplied by a factor.
type faster struct {
	workload.Speeds
	by float64
}

// Seconds is the time of a unit, divided.
func (f faster) Seconds(split []int) float64 { return f.Speeds.Seconds(split) / f.by }
