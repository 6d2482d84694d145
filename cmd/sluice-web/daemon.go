package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/sluice-hpc/sluice/cmd/sluice-web/page"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/munge"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/etc"
)

// dial returns the client for a site's daemon, as sluice itself finds it: at SLUICE_ADDRESS, else on
// its socket, else at [remote] address. It does not connect.
func dial(c etc.Config) (*client.Client, error) {
	address := os.Getenv("SLUICE_ADDRESS")
	if _, err := os.Stat(c.Paths.Socket); address == "" && err != nil {
		address = c.Remote.Address
	}
	if address == "" {
		return client.Dial(c.Paths.Socket), nil
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, fmt.Errorf("invalid SLUICE_ADDRESS %q: want HOST:PORT", address)
	}
	uid, err := c.Remote.UID()
	if err != nil {
		return nil, err
	}
	tool, err := munge.New(c.Remote.Munge)
	if err != nil {
		return nil, fmt.Errorf("sluiced on %s cannot be asked: %w", address, err)
	}
	return client.DialRemote(client.Remote{Address: address, Daemon: uid, Munge: tool}), nil
}

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
