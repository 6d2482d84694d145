package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"

	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
)

const (
	// leastGap bounds the rate of queries under a flood of events.
	leastGap = 250 * time.Millisecond
	// stirEvery is how often the answers of jobs that were asked to save are checked: one
	// small file each, without queries of Slurm.
	stirEvery = 100 * time.Millisecond
	// listenEvery is how often a sluiced --user checks whether a runner reported the end
	// of its job: likewise.
	listenEvery = time.Second
	// freshEvery is the minimum time between two reads of the files of running jobs for a
	// report, and freshWait the maximum time for which the caller waits for one: not for
	// a cycle.
	freshEvery, freshWait = time.Second, 50 * time.Millisecond
	// meetEvery is the minimum time between two queries of Slurm for jobs that no cycle
	// has seen: requests for unknown numbers must not fill the cycle.
	meetEvery = 200 * time.Millisecond
	// mostOrders are carried out between two effects of a cycle; the others wait.
	mostOrders = 16
	// Ended jobs and their data are kept this long.
	historyFor = 90 * 24 * time.Hour
)

// loop is the daemon's only clock: it calls the engine at the time that the engine
// requested, and earlier after an event.
type loop struct {
	d       *daemon
	woken   chan struct{}
	calls   chan func()   // run between two cycles, on the engine's goroutine
	orders  chan func()   // likewise, or between two effects of a cycle
	begun   atomic.Uint64 // number of cycles
	told    string        // why the last cycle made no decisions
	systemd notifier
}

func newLoop(d *daemon) *loop {
	return &loop{d: d, woken: make(chan struct{}, 1), calls: make(chan func()), orders: make(chan func())}
}

// wake makes the next cycle start soon. It never blocks.
func (l *loop) wake() {
	select {
	case l.woken <- struct{}{}:
	default:
	}
}

// call runs f between two cycles and waits for it, or for ctx.
func (l *loop) call(ctx context.Context, f func()) error { return inTurn(ctx, l.calls, f) }

// order runs f as soon as the engine allows, also during a cycle, and waits for it.
func (l *loop) order(ctx context.Context, f func()) error { return inTurn(ctx, l.orders, f) }

// serve runs waiting orders, for a bounded time. The engine calls it between two effects.
func (l *loop) serve() {
	for range mostOrders {
		select {
		case f := <-l.orders:
			f()
		default:
			return
		}
	}
}

func inTurn(ctx context.Context, turn chan func(), f func()) error {
	done := make(chan struct{})
	select {
	case turn <- func() { f(); close(done) }:
		<-done
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run cycles until ctx ends.
func (l *loop) run(ctx context.Context) error {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	ready := false
	var pruned time.Time
	for ctx.Err() == nil {
		started := time.Now()
		l.begun.Add(1)
		next, err := l.d.engine.Cycle(ctx, started)
		took := time.Since(started)
		engine.Took(l.d.engine, took)
		l.d.metrics.Sweeps(l.d.sweepFigures())
		l.d.metrics.Cycle(engine.Published(l.d.engine), took, err)
		l.d.send()
		if ctx.Err() == nil {
			l.tell(err)
			l.d.streamCycle()
		}
		if err := l.d.store.Damage(); err != nil {
			// A new start checks the whole database, sets it aside and finds the jobs in
			// Slurm.
			return fmt.Errorf("stopping so that the next start does not build on it; jobs run on at their size: %w", err)
		}
		if !ready {
			ready = true
			l.systemd.say(sd.SdNotifyReady)
		}
		if started.Sub(pruned) > 24*time.Hour {
			pruned = started
			if err := l.prune(ctx, oldest(started, l.d.newest, started.Sub(l.d.started))); err != nil {
				l.d.log.Warn().Str("event", "unpruned").Err(err).Msg("old history could not be removed from the database")
			}
		}
		l.rest(ctx, hup, started, next)
	}
	l.systemd.say(sd.SdNotifyStopping)
	return nil
}

// prune removes what is older than the given time, and, for jobs that are no longer in
// the report, what nothing else learns from.
func (l *loop) prune(ctx context.Context, before time.Time) error {
	return errors.Join(l.d.store.Prune(ctx, before), l.d.store.ForgetOwn(ctx, before.Add(historyFor-track.EndedMemory)))
}

// oldest is the time before which history is removed. The system clock may be far ahead:
// it counts only up to the newest job that the store had when it was opened, plus the
// time since then, measured by the monotonic clock.
func oldest(now, newest time.Time, up time.Duration) time.Time {
	if newest.IsZero() {
		newest = now.Add(-up) // the store had no jobs, so nothing can be lost
	}
	if last := newest.Add(up); last.Before(now) {
		now = last
	}
	return now.Add(-historyFor)
}

// tell logs why a cycle made no decisions: once as long as the reason is the same, which
// with a full disk or without file descriptors may be for days.
func (l *loop) tell(err error) {
	said := ""
	if err != nil {
		said = err.Error()
	}
	if said != "" && said != l.told {
		l.d.log.Error().Str("event", "undecided").Err(err).Msg("this cycle made no decisions")
	}
	l.told = said
}

// rest waits for the next cycle and serves calls in between.
func (l *loop) rest(ctx context.Context, hup <-chan os.Signal, started, next time.Time) {
	earliest := started.Add(leastGap)
	timer := time.NewTimer(time.Until(next))
	defer timer.Stop()
	stir := time.NewTicker(stirEvery)
	defer stir.Stop()
	listen := time.NewTicker(listenEvery)
	defer listen.Stop()
	woken := l.woken
	for {
		l.systemd.say(sd.SdNotifyWatchdog)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case <-woken:
			woken = nil // one is enough; the timer does the rest
			l.d.engine.Happened()
			timer.Reset(max(0, time.Until(earliest)))
		case <-stir.C:
			if l.d.engine.Stirred() {
				return
			}
		case <-listen.C:
			if l.d.engine.Exited() {
				return
			}
		case f := <-l.calls:
			f()
		case f := <-l.orders:
			f()
		case <-hup:
			l.d.reload()
			return
		}
	}
}
