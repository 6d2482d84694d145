package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/elastic/feed"
	"github.com/sluice-hpc/sluice/etc"
)

// The daemon is a control.Service.
var _ control.Service = (*daemon)(nil)

// Report returns what the last cycle published.
func (d *daemon) Report() *publish.Report { return d.engine.Report() }

// Plan decides from the last observation, as the next cycle will, and carries out
// nothing.
func (d *daemon) Plan(ctx context.Context) (engine.Forecast, error) {
	var plan engine.Forecast
	var ok bool
	err := d.loop.call(ctx, func() { _, plan, ok = d.engine.Plan(time.Now()) })
	if err == nil && !ok {
		err = fmt.Errorf("sluiced has had no answer from Slurm yet; try again in a moment")
	}
	return plan, err
}

// Direct stores a user's order and wakes the cycle that carries it out.
func (d *daemon) Direct(ctx context.Context, caller control.Caller, job elastic.JobID, change wire.Change) error {
	var result error
	var err error
	switch change.Order {
	case wire.Save:
		err = d.loop.call(ctx, func() {
			result = d.engine.Order(ctx, job, elastic.Save, time.Now())
			d.streamOrder(caller, job, change, result)
		})
	case wire.Requeue:
		err = d.loop.call(ctx, func() {
			result = d.engine.Order(ctx, job, elastic.Park, time.Now())
			d.streamOrder(caller, job, change, result)
		})
	default: // a stored order need not wait for the end of a cycle
		err = d.loop.order(ctx, func() { result = d.engine.Direct(ctx, job, change.Apply); d.streamOrder(caller, job, change, result) })
	}
	if err != nil {
		return err
	}
	d.ordered(caller, job, change, result)
	return result
}

// ordered logs an order, and wakes the cycle that carries it out.
func (d *daemon) ordered(caller control.Caller, job elastic.JobID, change wire.Change, result error) {
	entry := d.log.Info().Str("event", "order").Int64("job", int64(job)).Uint32("uid", caller.UID)
	if caller.Via != "" {
		entry = entry.Str("user", caller.Name).Str("via", caller.Via)
	}
	entry.Str("order", change.String()).AnErr("result", result).Msg("order")
	if result == nil {
		d.loop.wake()
	}
}

// Deadline stores a job's new deadline and judges it.
func (d *daemon) Deadline(ctx context.Context, caller control.Caller, job elastic.JobID, change wire.Change) (*elastic.JobReason, error) {
	var judged *elastic.JobReason
	var result error
	err := d.loop.call(ctx, func() {
		judged, result = engine.Redate(ctx, d.engine, job, change.Deadline, change.Soft, time.Now())
		d.streamOrder(caller, job, change, result)
	})
	if err != nil {
		return nil, err
	}
	d.ordered(caller, job, change, result)
	return judged, result
}

// Page reads a page of jobs and their runs from the store, beside the cycle.
func (d *daemon) Page(ctx context.Context, since time.Time, at journal.Position, scan int, wanted func(journal.JobRecord) bool, each func(journal.JobRecord, []journal.Segment) error) (journal.Position, bool, error) {
	return d.store.Page(ctx, since, at, scan, wanted, each)
}

// Events returns the feed of events.
func (d *daemon) Events() *feed.Feed { return d.stream.feed }

// Trust makes a node usable again and wakes the cycle.
func (d *daemon) Trust(ctx context.Context, caller control.Caller, node string) error {
	var result error
	err := d.loop.call(ctx, func() { result = d.engine.Trust(ctx, node, time.Now()) })
	if err != nil {
		return err
	}
	entry := d.log.Info().Str("event", "trust").Str("node", node).Uint32("uid", caller.UID)
	if caller.Via != "" {
		entry = entry.Str("user", caller.Name).Str("via", caller.Via)
	}
	entry.AnErr("result", result).Msg("trust")
	if result == nil {
		d.loop.wake()
	}
	return result
}

// Segments returns the runs of a job, oldest first.
func (d *daemon) Segments(ctx context.Context, token string) ([]journal.Segment, error) {
	return d.store.Segments(ctx, token)
}

// Past reads jobs and their runs from the store, beside the cycle.
func (d *daemon) Past(ctx context.Context, since time.Time, wanted func(journal.JobRecord) bool, each func(journal.JobRecord, []journal.Segment) error) error {
	return d.store.Past(ctx, since, wanted, each)
}

// Speeds returns what is known of a user's jobs of a model. If no cycle chose the
// predictor it is chosen here, outside the loop, for one caller at a time, and cached.
func (d *daemon) Speeds(ctx context.Context, uid uint32, model string) (engine.Speeds, error) {
	var out engine.Speeds
	var result error
	if err := d.loop.call(ctx, func() { out, result = d.engine.Speeds(ctx, uid, model, time.Now()) }); err != nil || result != nil {
		return out, errors.Join(err, result)
	}
	d.settled.settle(&out)
	return out, nil
}

// settled caches the predictor of models for which no cycle chose one.
type settled struct {
	mu    sync.Mutex
	known map[string]engine.Speeds // by key
}

// mostSettled is the number of models in that cache.
const mostSettled = 64

func (s *settled) settle(of *engine.Speeds) {
	if of.Choice != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if had, known := s.known[of.Key]; known && had.At.Equal(of.At) && had.Count == of.Count {
		of.Choice = had.Choice
		return
	}
	of.Settle()
	if s.known == nil || len(s.known) >= mostSettled {
		s.known = map[string]engine.Speeds{}
	}
	s.known[of.Key] = *of
}

// Refresh reads what running jobs have written, at most once per freshEvery. During a
// cycle nothing is read: a report is about to be published.
func (d *daemon) Refresh(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, freshWait)
	defer cancel()
	_ = d.loop.call(ctx, func() {
		if now := time.Now(); now.Sub(d.refreshed) >= freshEvery {
			d.refreshed = now
			d.engine.Refresh(now)
		}
	})
}

// Meet looks for a job that no cycle has seen yet.
func (d *daemon) Meet(ctx context.Context, job elastic.JobID) {
	_ = d.loop.order(ctx, func() {
		if now := time.Now(); now.Sub(d.met) >= meetEvery {
			d.met = now
			d.engine.Meet(ctx, job, now)
		}
	})
}

// Wake makes the next cycle start soon.
func (d *daemon) Wake() { d.loop.wake() }

func (d *daemon) serverOptions(c etc.Config) control.Options {
	return control.Options{
		Operators: c.Users.Operators, Private: c.Users.Private, UserMode: d.options.user, UID: uint32(os.Geteuid()),
		Service: d.service(c),
		Web:     c.Web.User, WebActs: c.Web.Act, WebOperators: c.Web.Operators,
		Now: time.Now, Keeps: historyFor, Version: version, Started: d.started,
		Self:   func() (int, uint64, uint64) { return runtime.NumGoroutine(), d.loop.begun.Load(), live() },
		Log:    func(err error) { d.log.Warn().Str("event", "api").Err(err).Msg("api") },
		Denied: d.logDenial, Troubles: d.troubles.list, Speeds: d.speeds.Backlog, Messages: d.messageState,
	}
}

// service is the service account; "" = none. A user's own jobs are that user's.
func (d *daemon) service(c etc.Config) string {
	if d.options.user {
		return ""
	}
	return c.Data.Account
}

// live is how many bytes the last collection of garbage found in use.
func live() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	if metrics.Read(sample); sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}

// logDenial logs which request of which user was refused.
func (d *daemon) logDenial(n control.Denial) {
	entry := d.log.Warn().Str("event", "denied").Uint32("uid", n.Caller.UID).Str("user", n.Caller.Name)
	if n.Caller.Via != "" {
		entry = entry.Str("via", n.Caller.Via)
	}
	if n.From != "" {
		entry = entry.Str("from", n.From)
	} else {
		entry = entry.Int32("pid", n.Caller.PID)
	}
	if n.Job != 0 {
		entry = entry.Int64("job", int64(n.Job))
	}
	if n.Missed > 0 {
		entry = entry.Int("more", n.Missed)
	}
	entry.Str("verb", n.Verb).Msg(n.String())
}
