package main

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-hpc/sluice/cmd/sluice-web/page"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// How often open pages are told, and a daemon without a stream is asked.
const (
	askEvery   = 3 * time.Second
	tellEvery  = 2 * time.Second
	freshEvery = 15 * time.Second
)

// events is the part of the daemon that watch needs.
type events interface {
	Events(ctx context.Context, after string, each func(wire.Happening) error) error
	Status(ctx context.Context) (wire.Status, error)
}

// watch tells what changes: by the daemon's stream of events; where that is not to be had, over TCP or
// with an older sluiced, by asking every few seconds whether there was a cycle. It tells at least
// every 15 s, since jobs go on between two events.
func watch(d events) page.Watch {
	return func(ctx context.Context, notify func()) {
		told := make(chan struct{}, 1)
		go follow(ctx, d, func() {
			select {
			case told <- struct{}{}:
			default:
			}
		})
		for {
			select {
			case <-ctx.Done():
				return
			case <-told:
			case <-time.After(freshEvery):
			}
			notify()
			select {
			case <-ctx.Done():
				return
			case <-time.After(tellEvery):
			}
		}
	}
}

// follow calls changed after each event until ctx ends.
func follow(ctx context.Context, d events, changed func()) {
	var cycled time.Time
	gone, print := false, ""
	for ctx.Err() == nil {
		err := d.Events(ctx, "", func(h wire.Happening) error {
			if h.Kind == wire.KindCycle && h.Print != "" && h.Print == print {
				return nil // nothing that a page shows has changed
			}
			print = h.Print
			changed()
			return nil
		})
		if ctx.Err() != nil {
			return
		}
		if status, broken := d.Status(ctx); broken != nil {
			if !gone {
				changed()
			}
			gone = true
		} else if gone || !status.Cycled.Equal(cycled) || errors.Is(err, wire.ErrNoDaemon) {
			cycled, gone = status.Cycled, false
			changed()
		}
		select {
		case <-ctx.Done():
		case <-time.After(askEvery):
		}
	}
}
