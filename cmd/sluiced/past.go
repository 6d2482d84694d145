package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/elastic/offcycle"
	"github.com/sluice-hpc/sluice/elastic/past"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/store"
)

// history is what is kept for those who look back. Without a usable file nothing is kept, and requests for
// it fail; jobs are managed all the same.
type history struct {
	file    *store.History // nil = none
	writer  *offcycle.History
	sampled time.Time // used on the engine's goroutine
}

// openHistory opens the history beside the store.
func (d *daemon) openHistory(ctx context.Context) {
	file, notice, err := store.OpenHistory(ctx, store.HistoryPath(d.store.Path()), time.Now())
	emptied := func(notice string) { d.log.Error().Str("event", "emptied").Msg(notice) }
	if notice != "" {
		emptied(notice)
	}
	if err != nil {
		d.tellHistory(err)
		return
	}
	file.Told = emptied
	d.history.file, d.history.writer = file, offcycle.NewHistory(file, d.tellHistory)
}

// tellHistory logs that history cannot be stored, and that it can again.
func (d *daemon) tellHistory(err error) {
	if err != nil {
		d.log.Error().Str("event", "unstored").Err(err).Msg("what happens cannot be kept for pages about the past; nothing is decided by it")
		return
	}
	d.log.Info().Str("event", "stored").Msg("what happens is kept for pages about the past again")
}

// keepHistory stores it until ctx ends. It is thinned by a time that a clock that is ahead does not move.
func (d *daemon) keepHistory(ctx context.Context) error {
	if d.history.writer == nil {
		return nil
	}
	age := func() time.Time {
		now := time.Now()
		return oldest(now, d.newest, now.Sub(d.started)).Add(historyFor)
	}
	err := d.history.writer.Run(ctx, time.Now, age)
	_ = d.history.file.Close()
	return err
}

// closed keeps a move that was closed. It is called on the engine's goroutine.
func (d *daemon) closed(in elastic.Intent, how elastic.Outcome, why reason.Reason, at time.Time) {
	of, known := engine.Whose(d.engine, in.Job)
	if d.history.writer == nil || !known {
		return
	}
	if raw, err := json.Marshal(past.MoveOf(in, how, why, at)); err == nil {
		d.history.writer.Add([]past.Entry{{Kind: past.Moves, At: in.Opened, Job: in.Job, UID: of.Owner.UID, User: of.Owner.User, Body: raw}})
	}
}

// keepCycle keeps the decisions of a cycle, and once a minute the state of the cluster.
func (d *daemon) keepCycle(r *publish.Report, list []publish.Change) {
	if d.history.writer == nil {
		return
	}
	var entries []past.Entry
	for _, c := range list {
		if c.Kind != publish.Decision {
			continue
		}
		if raw, err := json.Marshal(past.Decision{Has: c.Has, Target: c.Target, Why: reason.Value{Reason: c.Why}}); err == nil {
			entries = append(entries, past.Entry{Kind: past.Decisions, At: r.At, Job: c.Job.ID, UID: c.Job.Owner.UID, User: c.Job.Owner.User, Body: raw})
		}
	}
	d.history.writer.Add(entries, d.samples(r, time.Now())...)
}

// samples returns the state of the cluster and of shares, if it is time for that.
func (d *daemon) samples(r *publish.Report, now time.Time) (out []past.Sample) {
	since := now.Sub(d.history.sampled)
	if since >= 0 && since < past.SampleEvery {
		return nil
	}
	d.history.sampled = now
	add := func(kind past.Kind, v any) {
		if raw, err := json.Marshal(v); err == nil {
			out = append(out, past.Sample{Kind: kind, At: now, Seconds: past.SampleEvery.Seconds(), Body: raw})
		}
	}
	add(past.Clusters, publish.ClusterOf(r))
	if division, divided := publish.DivisionOf(r); divided {
		add(past.Shares, division)
	}
	return out
}

// noHistory is the answer without a usable file.
func noHistory() error {
	return wire.Fail(wire.Unavailable, "see sluiced's log", "sluiced keeps no history now")
}

// Entries reads decisions and moves.
func (d *daemon) Entries(ctx context.Context, q past.Query) ([]past.Entry, error) {
	if d.history.file == nil {
		return nil, noHistory()
	}
	return d.history.file.Entries(ctx, q)
}

// Samples reads samples of the cluster and of shares.
func (d *daemon) Samples(ctx context.Context, q past.Query) ([]past.Sample, error) {
	if d.history.file == nil {
		return nil, noHistory()
	}
	return d.history.file.Samples(ctx, q)
}
