package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/elastic/forecast"
)

// foreseeFor is how long one projection may take: it repeats decisions, of which one takes up to a second on
// the largest clusters. What is reached by then is the answer.
const foreseeFor = 5 * time.Second

// foreseePart: at most one part in so many of the time is spent on projections that pages ask for.
const foreseePart = 10

// foreseen is the last forecast, for all callers until the next report, or longer if it took long.
type foreseen struct {
	mu    sync.Mutex // held while one is computed: the others wait for it
	of    *publish.Report
	last  forecast.Projection
	until time.Time
}

// Forecast projects the last observation forward, once a report.
func (d *daemon) Forecast(ctx context.Context) (forecast.Projection, error) {
	d.foreseen.mu.Lock()
	defer d.foreseen.mu.Unlock()
	if ctx.Err() != nil {
		return forecast.Projection{}, ctx.Err()
	}
	began := time.Now()
	if began.Before(d.foreseen.until) {
		return d.foreseen.last, nil
	}
	out, of, err := d.outlook(ctx)
	if err != nil || d.foreseen.of == of {
		return d.foreseen.last, err
	}
	d.foreseen.last, d.foreseen.of = project(out), of
	d.foreseen.until = began.Add(foreseePart * time.Since(began))
	return d.foreseen.last, nil
}

// outlook is what a projection starts from, and the report it belongs to.
func (d *daemon) outlook(ctx context.Context) (out engine.Outlook, of *publish.Report, err error) {
	ok := false
	err = d.loop.call(ctx, func() {
		out, ok = engine.Foresee(d.engine, time.Now())
		of = engine.Published(d.engine)
	})
	if err == nil && !ok {
		err = fmt.Errorf("sluiced has had no answer from Slurm yet; try again in a moment")
	}
	return out, of, err
}

// project is not ended by its caller's going: the next caller wants the same.
func project(out engine.Outlook) forecast.Projection {
	ctx, cancel := context.WithTimeout(context.Background(), foreseeFor)
	defer cancel()
	return forecast.Project(ctx, out.Snapshot, out.Decide, forecast.Usual)
}

// WhatIf projects the last observation forward without a change and with it.
func (d *daemon) WhatIf(ctx context.Context, c control.Caller, change wire.WhatIf) (before, after forecast.Projection, err error) {
	if before, err = d.Forecast(ctx); err != nil {
		return before, after, err
	}
	out, _, err := d.outlook(ctx)
	if err != nil {
		return before, after, err
	}
	if before.At != out.Snapshot.Now { // both start from one observation
		before = project(out)
	}
	if s := change.Submit; s != nil {
		tried := forecast.Submission{Name: s.Name, User: c.Name, UID: c.UID, Partition: s.Partition, Min: s.MinGPUs, Max: s.MaxGPUs, Lanes: s.Lanes, Trials: s.Trials, Each: s.Seconds}
		out.Snapshot, _ = tried.In(out.Snapshot)
		return before, project(out), nil
	}
	i := slices.IndexFunc(out.Snapshot.Jobs, func(j elastic.Job) bool { return int64(j.ID) == change.JobID })
	if i < 0 {
		return before, after, wire.Fail(wire.Unavailable, "try again in a moment", "no cycle has seen job %d yet", change.JobID)
	}
	tried := forecast.Change{Job: elastic.JobID(change.JobID), Pin: change.GPUs, Deadline: change.Deadline, Soft: change.Soft, NoDeadline: change.NoDeadline, Hold: change.Hold, End: change.End}
	out.Snapshot = tried.In(out.Snapshot)
	return before, project(out), nil
}
