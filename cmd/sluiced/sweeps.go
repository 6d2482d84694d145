package main

import (
	"context"
	"path/filepath"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/offcycle"
	"github.com/sluice-hpc/sluice/etc"
)

// sweepEvery is how often the files of sweeps are looked at, and so about how long a lane waits for
// its next trial.
const sweepEvery = 500 * time.Millisecond

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
			Sweep: l.Sweep, Lane: l.Token, UID: l.UID, Job: int64(l.Job), Ended: l.Ended, Waits: l.Waits, Restarts: l.Restarts,
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
		}
	}
	return out
}

// trials are the trials that lanes run, by the token of the lane.
func (d *daemon) trials() map[string]elastic.Trial {
	if d.sweeps == nil {
		return nil
	}
	out := map[string]elastic.Trial{}
	for _, s := range d.sweeps.Standings() {
		for lane, t := range s.Lanes {
			out[lane] = elastic.Trial{Sweep: elastic.JobID(s.Number), Number: t.Trial, Metric: s.Metric, Epoch: t.Epoch, Value: t.Value, Known: t.Known}
		}
	}
	return out
}

// tellSweep logs what is wrong with a sweep, and that it works again.
func (d *daemon) tellSweep(token string, err error) {
	if err != nil {
		d.log.Warn().Str("event", "sweep").Str("sweep", token).Err(err).Msg("a sweep is not looked after: its lanes go on with the trials they have")
		return
	}
	d.log.Info().Str("event", "sweep").Str("sweep", token).Msg("the sweep is looked after again")
}
