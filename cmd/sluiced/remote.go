package main

import (
	"context"
	"fmt"
	"os"

	"github.com/sluice-hpc/sluice/elastic/control/munge"
	"github.com/sluice-hpc/sluice/etc"
)

// listenRemote opens the API to other login nodes, if configured.
func (d *daemon) listenRemote(ctx context.Context, c etc.Remote) error {
	if c.Address == "" || d.options.user {
		return nil
	}
	uid, err := c.UID()
	if err != nil {
		return err
	}
	if me := uint32(os.Geteuid()); uid != me {
		return fmt.Errorf("[remote] user is %s, uid %d, but sluiced runs as uid %d and could not read what is sent to it; "+
			"name the account that sluiced runs as", c.User, uid, me)
	}
	tool, err := munge.New(c.Munge)
	if err != nil {
		return fmt.Errorf("[remote] address: %w", err)
	}
	if err := d.server.ListenRemote(ctx, c.Address, tool); err != nil {
		return err
	}
	d.log.Info().Str("event", "listens").Stringer("address", d.server.RemoteAddr()).Msg("also answers over TCP")
	return nil
}
