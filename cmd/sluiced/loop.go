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

	"github.com/sluice-hpc/sluice/elastic/engine/track"
)

const (
	// leastGap keeps a flood of events from becoming a flood of queries.
	leastGap = 250 * time.Millisecond
	// stirEvery is how often the answers of jobs that were asked to save are
	// looked for: one small file each, nothing of Slurm.
	stirEvery = 100 * time.Millisecond
	// listenEvery is how often a sluiced --user looks whether a runner said that its job
	// is over: likewise.
	listenEvery = time.Second
	// freshEvery is the least time between two looks at what running jobs have written,
	// when somebody asks, and freshWait how long who asks waits for one: not for a cycle.
	freshEvery, freshWait = time.Second, 50 * time.Millisecond
	// meetEvery is the least time between two questions to Slurm for jobs that no cycle has
	// seen: who asks for numbers that are not there must not fill the cycle.
	meetEvery = 200 * time.Millisecond
	// mostOrders are carried out between two effects of a cycle; the others wait.
	mostOrders = 16
	// Ended jobs, and what is known of them, are kept this long.
	historyFor = 90 * 24 * time.Hour
)

// loop is the daemon's only clock: it calls the engine when it asked to be
// called, and earlier when something happened.
type loop struct {
	d       *daemon
	woken   chan struct{}
	calls   chan func()   // to run between two cycles, on the engine's goroutine
	orders  chan func()   // likewise, or between two effects of a cycle
	begun   atomic.Uint64 // cycles
	told    string        // why the last cycle decided nothing
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

// order runs f as soon as the engine allows, in the midst of a cycle too, and waits for it.
func (l *loop) order(ctx context.Context, f func()) error { return inTurn(ctx, l.orders, f) }

// serve runs orders that wait, but not for ever. The engine calls it between two effects.
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
		if ctx.Err() == nil {
			l.tell(err)
		}
		if err := l.d.store.Damage(); err != nil {
			// A new start checks all of it, sets it aside and finds the jobs in Slurm.
			return fmt.Errorf("stopping so that the next start does not build on it; jobs run on at their size: %w", err)
		}
		if !ready {
			ready = true
			l.systemd.say(sd.SdNotifyReady)
		}
		if started.Sub(pruned) > 24*time.Hour {
			pruned = started
			if err := l.prune(ctx, oldest(started, l.d.newest, started.Sub(l.d.started))); err != nil {
				l.d.log.Warn().Str("event", "unpruned").Err(err).Msg("old history stays in the database")
			}
		}
		l.rest(ctx, hup, started, next)
	}
	l.systemd.say(sd.SdNotifyStopping)
	return nil
}

// prune forgets what is older than the time, and of jobs that are no longer in the report
// what nothing else learns from.
func (l *loop) prune(ctx context.Context, before time.Time) error {
	return errors.Join(l.d.store.Prune(ctx, before), l.d.store.ForgetOwn(ctx, before.Add(historyFor-track.EndedMemory)))
}

// oldest is from when on history is kept. The clock may be far ahead: what it says counts
// no further than the newest job that the store had when it was opened, and the time since
// then, which is measured by the monotonic clock.
func oldest(now, newest time.Time, up time.Duration) time.Time {
	if newest.IsZero() {
		newest = now.Add(-up) // nothing was there that could be lost
	}
	if last := newest.Add(up); last.Before(now) {
		now = last
	}
	return now.Add(-historyFor)
}

// tell writes down why a cycle decided nothing: once for as long as it is the same,
// which with a disk that is full or descriptors that ran out may be for days.
func (l *loop) tell(err error) {
	said := ""
	if err != nil {
		said = err.Error()
	}
	if said != "" && said != l.told {
		l.d.log.Error().Str("event", "undecided").Err(err).Msg("this cycle decided nothing")
	}
	l.told = said
}

// rest waits for the next cycle and serves what comes in between.
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
