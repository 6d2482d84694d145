package main

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/metrics"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/etc"
)

func metricsOptions(c etc.Config) metrics.Options {
	return metrics.Options{Users: c.Metrics.Users, Jobs: c.Metrics.Jobs}
}

// listenMetrics opens the address of metrics, if one is configured. It returns how to serve it.
func (d *daemon) listenMetrics(ctx context.Context, address string) (func(context.Context) error, error) {
	if address == "" {
		return func(context.Context) error { return nil }, nil
	}
	server, err := metrics.Listen(ctx, address, d.metrics.Handler(), func(err error) { d.log.Warn().Str("event", "api").Err(err).Msg("metrics") })
	if err != nil {
		return nil, err
	}
	d.log.Info().Str("event", "listens").Stringer("address", server.Addr()).Msg("answers scrapes of its metrics")
	return server.Serve, nil
}

// called counts a call of Slurm.
func (d *daemon) called(request string, took time.Duration, err error) {
	d.metrics.Requested(request, took, err != nil)
}

// deciding measures a decision of the engine.
func (d *daemon) deciding(decide func()) {
	began := time.Now()
	decide()
	d.metrics.Decided(time.Since(began))
}

// measured is a journal whose writes are measured.
type measured struct {
	journal.Journal
	metrics *metrics.Metrics
}

// write measures one write.
func (j measured) write(f func() error) error {
	began := time.Now()
	err := f()
	j.metrics.Wrote(time.Since(began), err != nil)
	return err
}

// Intend is measured as one write, whatever the number of intents: it is one transaction.
func (j measured) Intend(ctx context.Context, ins []elastic.Intent) (out []elastic.Intent, err error) {
	err = j.write(func() error { out, err = j.Journal.Intend(ctx, ins); return err })
	return out, err
}

// Advance is measured; the effect of the step waits for it.
func (j measured) Advance(ctx context.Context, in elastic.Intent) error {
	return j.write(func() error { return j.Journal.Advance(ctx, in) })
}

// Close is measured, also where the intent was closed already.
func (j measured) Close(ctx context.Context, in elastic.Intent, how elastic.Outcome, why reason.Reason, at time.Time) error {
	return j.write(func() error { return j.Journal.Close(ctx, in, how, why, at) })
}

// SaveJobs is measured as one write, as it is one transaction.
func (j measured) SaveJobs(ctx context.Context, records []journal.JobRecord) error {
	return j.write(func() error { return j.Journal.SaveJobs(ctx, records) })
}

// SaveSegments is measured. Reads and the rarer writes of the embedded Journal are not.
func (j measured) SaveSegments(ctx context.Context, segments []journal.Segment) error {
	return j.write(func() error { return j.Journal.SaveSegments(ctx, segments) })
}
