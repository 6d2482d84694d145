package whole

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/say"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

// Outcome is what came of one simulation: a replay's result, and what only the
// whole protocol shows.
type Outcome struct {
	replay.Result
	// Price is the mean of what the engine measured of its moves; Moves is over
	// how many.
	Price elastic.Price
	Moves int
	// Abandoned counts moves that ended otherwise than planned.
	Abandoned int
}

// Run simulates the workload to its end and returns what a replay returns. It
// fails like replay.Run, and when a promise of the protocol was broken (see
// world.World.Check).
//
// Of the result, Rounds counts the engine's cycles, Decisions times the policy
// alone, and Restarting is all GPU time that jobs held without training.
func Run(ctx context.Context, cfg Config, w workload.Workload) (replay.Result, error) {
	out, err := Simulate(ctx, cfg, w)
	return out.Result, err
}

// Simulate is Run that also tells what only the whole protocol shows.
func Simulate(ctx context.Context, cfg Config, w workload.Workload) (Outcome, error) {
	s, err := newSite(cfg)
	if err == nil {
		err = s.run(ctx, w)
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("%s on %s: %w", cfg.Policy.Name, w.Name, err)
	}
	return s.outcome(w)
}

// The daemon's own pace between two cycles (cmd/sluiced).
const (
	leastGap  = 250 * time.Millisecond // between two cycles, whatever happens
	stirEvery = 100 * time.Millisecond // between two looks for answers of jobs
)

// run calls the engine as the daemon does until all jobs have ended.
func (s *site) run(ctx context.Context, w workload.Workload) error {
	next, stop := pull(w)
	defer stop()
	for {
		if err := s.arrivals(next); err != nil {
			return err
		}
		started := s.w.Now()
		wake, err := s.engine.Cycle(ctx, started)
		if err != nil {
			return err
		}
		s.measureSpread()
		if next.done && s.live == 0 {
			return s.broken()
		}
		if s.live == 0 && s.quiet() {
			s.w.Slurm.AdvanceTo(s.begin.Add(next.job.Submit))
			continue
		}
		if err := s.rest(started, wake, next); err != nil {
			return err
		}
	}
}

// rest lets time pass until the next cycle, which comes earlier when a job
// arrives, answers or, where a hook tells, ends.
func (s *site) rest(started, wake time.Time, next *arrival) error {
	s.woken = false
	for s.w.Now().Before(wake) {
		to := wake
		if at := s.begin.Add(next.job.Submit); !next.done && at.Before(to) {
			to = at
		}
		if at, ok := s.w.Slurm.Next(); ok && at.Before(to) {
			to = at
		}
		s.w.Slurm.AdvanceTo(to)
		if err := s.arrivals(next); err != nil {
			return err
		}
		if s.woken {
			wake = earlier(wake, later(s.w.Now(), started.Add(leastGap)))
		}
		if s.engine.Stirred() {
			ticks := (s.w.Now().Sub(started) + stirEvery - 1) / stirEvery
			wake = earlier(wake, started.Add(ticks*stirEvery))
		}
		if s.trouble != nil {
			return s.trouble
		}
	}
	return s.overdue()
}

// quiet reports whether the engine, too, knows of no job that has not ended.
func (s *site) quiet() bool {
	for _, j := range s.engine.Report().Jobs {
		if !j.Ended {
			return false
		}
	}
	return true
}

// overdue gives up on jobs that could have been done many times over.
func (s *site) overdue() error {
	if s.w.Now().Before(s.begin.Add(s.limit)) {
		return nil
	}
	var waiting []string
	for _, j := range s.engine.Report().Jobs {
		if !j.Ended && len(waiting) < 3 {
			waiting = append(waiting, fmt.Sprintf("%s (%s: %s)", j.Record.Name, j.Record.State, say.Reason(j.Why, time.Time{})))
		}
	}
	return fmt.Errorf("%d jobs have not ended %v after the start, which is far more than they need: %s", s.live, s.limit, strings.Join(waiting, "; "))
}

// broken returns the promises that were not kept.
func (s *site) broken() error {
	// The last job's nodes are cleaned away before anything is judged.
	s.w.Advance(time.Minute)
	var errs []error
	for _, b := range s.w.Check() {
		errs = append(errs, errors.New(b))
	}
	return errors.Join(errs...)
}

// measureSpread notes how scattered the GPUs were that the last cycle saw free.
func (s *site) measureSpread() {
	s.rounds++
	free, scattered := 0, 0
	for _, n := range s.engine.Report().Nodes {
		free += n.Free()
		if n.Used > 0 {
			scattered += n.Free()
		}
	}
	if free > 0 {
		s.spread.sum += float64(scattered) / float64(free)
		s.spread.n++
	}
}

// event counts moves that ended otherwise than planned, and notes which jobs are
// stopped to wait again.
func (s *site) event(e event.Event) {
	switch {
	case e.Kind == "close" && e.Outcome != elastic.Done:
		s.abandoned++
	case e.Kind == "open" && e.Move == elastic.Park:
		s.parks[e.Job] = append(s.parks[e.Job], e.At)
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
