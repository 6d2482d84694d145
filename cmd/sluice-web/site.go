package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/sluice-web/door"
	"github.com/sluice-hpc/sluice/cmd/sluice-web/page"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/etc"
)

// serveSite serves all users, behind a web server.
func (o *options) serveSite(ctx context.Context, site etc.Config, cmd *cobra.Command) error {
	errs := cmd.ErrOrStderr()
	say := func(text string) { fmt.Fprintln(errs, "sluice web:", terminal.Escape(text)) }
	if os.Geteuid() == 0 {
		return fmt.Errorf("--site does not run as root; give it an account of its own ([web] user in sluice.toml)")
	}
	proxy := door.Proxy{Log: say}
	for _, name := range o.proxy {
		uid, err := lookUp(ctx, name)
		if err != nil {
			return fmt.Errorf("--proxy %s: %w", name, err)
		}
		proxy.UIDs = append(proxy.UIDs, uid)
	}
	if o.users != "" {
		f, err := os.Open(o.users)
		if err != nil {
			return fmt.Errorf("--users: %w", err)
		}
		proxy.Users, err = door.ReadUsers(o.users, f)
		f.Close()
		if err != nil {
			return err
		}
	}
	l, err := listenUnix(o.socket, 0o666) // the folder's permissions say who may connect, and the kernel who does
	if err != nil {
		return err
	}
	fmt.Fprintf(errs, "sluice web: pages at %s/ for the web server %v\n", o.base, o.proxy)
	return serve(ctx, l, sitePages(site, o.base, proxy, newAccounts().of, say), peer, errs)
}

// sitePages are the pages of all users, behind the door of the web server.
func sitePages(site etc.Config, base string, proxy door.Proxy, uidOf func(string) (uint32, error), say func(string)) http.Handler {
	daemon := client.Dial(site.Paths.Socket)
	config := page.Config{
		Base: base, Now: time.Now, Live: page.NewHub(watch(daemon)),
		Viewer: func(r *http.Request) (page.Viewer, error) {
			name := door.User(r)
			uid, err := uidOf(name)
			return page.Viewer{Name: name, UID: uid}, err
		},
		Daemon:   func(v page.Viewer) page.Daemon { return daemon.As(v.Name) },
		NoOrders: "These pages are read-only. Give the order on a login node.",
		Log:      func(err error) { say(err.Error()) },
	}
	if site.Web.Act {
		config.Orders, config.NoOrders = siteOrders{daemon}, ""
	}
	return proxy.Wrap(page.New(config))
}

// peer finds the account at the other end.
func peer(ctx context.Context, c net.Conn) context.Context {
	if s, ok := c.(*seated); ok {
		c = s.Unwrap()
	}
	return door.Peer(ctx, c)
}

// siteOrders gives orders by the API, for the viewer. What needs the viewer's own account, as
// cancelling does, is left to a login node.
type siteOrders struct{ daemon *client.Client }

// Gives reports whether the API has the order.
func (s siteOrders) Gives(verb string) bool {
	switch verb {
	case "resize", "hold", "release", "checkpoint", "requeue", "deadline":
		return true
	}
	return false
}

// Give gives an order.
func (s siteOrders) Give(ctx context.Context, v page.Viewer, o page.Order) (string, error) {
	change := wire.Change{}
	switch o.Verb {
	case "resize":
		change.Order = wire.Unpin
		if o.GPUs != "auto" {
			n, err := strconv.Atoi(o.GPUs)
			if err != nil {
				return "", err
			}
			change = wire.Change{Order: wire.Pin, GPUs: n}
		}
	case "hold":
		change.Order = wire.Hold
	case "release":
		change.Order = wire.Release
	case "checkpoint":
		change.Order = wire.Save
	case "requeue":
		change.Order = wire.Requeue
	case "deadline":
		when, err := page.Deadline(o.Deadline, time.Now())
		if err != nil {
			return "", err
		}
		j, err := s.daemon.As(v.Name).Deadline(ctx, o.Job, wire.Change{Deadline: when, Soft: o.Soft})
		return j.Text, err
	default:
		return "", wire.Fail(wire.Denied, "type it on a login node", "these pages run no programs as you, and %s needs one", o.Verb)
	}
	return "", s.daemon.As(v.Name).Direct(ctx, o.Job, change)
}
