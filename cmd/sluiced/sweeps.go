package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/offcycle"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
	"github.com/sluice-hpc/sluice/elastic/sweep/digest"
	"github.com/sluice-hpc/sluice/etc"
)

// sweepEvery is the time between two looks for sweeps that are due. A sweep is due at each look while one of
// its lanes is about to want a trial, else twice a second.
const sweepEvery = 25 * time.Millisecond

// sweepPaths are where sweeps are kept. Only this daemon reads the record.
func sweepPaths(c etc.Config) offcycle.SweepPaths {
	return offcycle.SweepPaths{Jobs: c.Paths.Jobs, Outbox: c.Paths.Outbox, Record: filepath.Join(c.Paths.State, "sweeps")}
}

// keepSweeps looks after the sweeps until ctx ends.
func (d *daemon) keepSweeps(ctx context.Context) error {
	ticks := time.NewTicker(sweepEvery)
	defer ticks.Stop()
	return d.sweeps.Run(ctx, ticks.C)
}

// lanes are the lanes of sweeps as the last cycle saw them.
func (d *daemon) lanes() offcycle.Live {
	lanes, waits, known := engine.Lanes(d.engine)
	live := offcycle.Live{Known: known, Idle: !waits}
	for _, l := range lanes {
		live.Lanes = append(live.Lanes, offcycle.LaneJob{
			Sweep: l.Sweep, Lane: l.Token, Owner: l.Owner, SlurmUID: l.SlurmUID, Job: int64(l.Job), Ended: l.Ended, Waits: l.Waits, Restarts: l.Restarts,
		})
	}
	return live
}

// standings are the sweeps as policies know them.
func (d *daemon) standings() map[string]elastic.Sweep {
	if d.sweeps == nil {
		return nil
	}
	out := map[string]elastic.Sweep{}
	for token, s := range d.sweeps.Standings() {
		out[token] = elastic.Sweep{
			Number: elastic.JobID(s.Number), Metric: s.Metric, Paused: s.Paused, Over: s.Over, Wants: s.Wants, Level: s.Level, Trials: s.Trials, Gap: s.Gap, Bid: s.Bid,
			Ended: s.Ended, Left: s.Left, Each: s.Each,
		}
	}
	return out
}

// Sweeps returns the sweeps as users may see them.
func (d *daemon) Sweeps() map[string]control.SweepReport {
	if d.sweeps == nil {
		return nil
	}
	out := map[string]control.SweepReport{}
	for token, s := range d.sweeps.Shown() {
		v := wire.Sweep{
			Number: s.Number, Token: token, Name: s.Name, UID: s.UID, State: sweepState(s), End: string(s.End), Algorithm: s.Algorithm, Metric: s.Metric, Max: s.Max, Goal: s.Goal,
			Trials: s.Asked, Begun: s.Begun, Running: s.Counts[book.Running], Waiting: s.Counts[book.Waiting], Paused: s.Counts[book.Paused],
			Stopped: s.Counts[book.Stopped], Failed: s.Counts[book.Failed], Done: s.Counts[book.Done], Parallel: s.Parallel, Wants: s.Wants,
			Level: s.Level, Gap: s.Gap, Counted: s.Standing.Trials, Bid: s.Bid, Bests: []wire.SweepBest{}, Levels: []wire.SweepLevel{},
			Created: s.Created, Began: s.Began, Problem: s.Problem,
		}
		if s.Best != nil {
			best := sweepBest(*s.Best)
			v.Best = &best
		}
		for _, b := range s.Bests {
			v.Bests = append(v.Bests, sweepBest(b))
		}
		for _, r := range s.Ratings {
			v.Levels = append(v.Levels, wire.SweepLevel{At: r.At, Level: r.Level, Gap: r.Gap, Counted: r.Done})
		}
		out[token] = control.SweepReport{Sweep: v, Running: s.Running}
	}
	return out
}

func sweepBest(b book.Best) wire.SweepBest {
	return wire.SweepBest{At: b.At, Value: b.Value, Trial: b.Trial, Epoch: b.Epoch}
}

// SweepTrials returns a part of the trials of a user's sweep.
func (d *daemon) SweepTrials(ctx context.Context, token string, uid uint32, q digest.Query) (digest.Digest, error) {
	err := offcycle.ErrNotKept
	var out digest.Digest
	if d.sweeps != nil {
		out, err = d.sweeps.Digest(ctx, token, uid, q)
	}
	switch {
	case errors.Is(err, offcycle.ErrNotKept):
		err = wire.Fail(wire.NotFound, "'sluice sweep show' reads them from its user's folders", "sluiced knows no trials of this sweep: it has had no lane for 10 minutes, or was not read yet")
	case errors.Is(err, offcycle.ErrOften):
		err = wire.Fail(wire.TooMany, "try again in a few seconds", "the trials of this user's sweeps were asked for too often")
	case err != nil:
		err = wire.Fail(wire.Unavailable, "try again in a minute; 'sluice sweep show' reads its user's folders itself", "the trials are not known now: %v", err)
	}
	return out, err
}

// sweepState is the state of a sweep in one word.
func sweepState(s offcycle.Shown) string {
	switch {
	case s.Over:
		return "over"
	case s.Paused:
		return "paused"
	case s.Counts[book.Running] > 0:
		return "running"
	}
	return "waiting"
}

// trials are the trials that lanes run, by the token of the lane.
func (d *daemon) trials() map[string]elastic.Trial {
	if d.sweeps == nil {
		return nil
	}
	out := map[string]elastic.Trial{}
	for _, s := range d.sweeps.Standings() {
		for lane, t := range s.Lanes {
			trial := trialOf(s, t)
			for _, other := range t.Beside {
				trial.Beside = append(trial.Beside, trialOf(s, other))
			}
			out[lane] = trial
		}
	}
	return out
}

// needless are the lanes that wait although their sweep is over, by token, each with the number of its sweep.
func (d *daemon) needless() map[string]elastic.JobID {
	if d.sweeps == nil {
		return nil
	}
	out := map[string]elastic.JobID{}
	for _, s := range d.sweeps.Standings() {
		for _, lane := range s.Needless {
			out[lane] = elastic.JobID(s.Number)
		}
	}
	return out
}

func trialOf(s offcycle.Standing, t offcycle.LaneTrial) elastic.Trial {
	return elastic.Trial{Sweep: elastic.JobID(s.Number), Number: t.Trial, Metric: s.Metric, Epoch: t.Epoch, Value: t.Value, Known: t.Known}
}

// tellSweep logs what is wrong with a sweep, and that it works again.
func (d *daemon) tellSweep(token string, err error) {
	if err != nil {
		d.log.Warn().Str("event", "sweep").Str("sweep", token).Err(err).Msg("a sweep is not looked after: its lanes go on with the trials they have")
		return
	}
	d.log.Info().Str("event", "sweep").Str("sweep", token).Msg("the sweep is looked after again")
}
