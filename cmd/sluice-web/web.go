package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/reach"
	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// options are the command line of "sluice web".
type options struct {
	socket  string
	browser bool
	site    bool
	proxy   []string
	users   string
	base    string
}

func newWebCommand() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "web",
		Short: "Show the cluster and your jobs in a browser",
		Long: `Serves pages of the cluster, its jobs, their past and what is expected, and gives
orders about your jobs. It runs as you and listens on a socket that only you can
open: a port of a login node would be open to all of its users. Type the ssh
command that it prints on your own machine, and open the address below it.

The address lets one browser in, once; press Enter for a new one. Ctrl-C ends it.

--browser is for a machine with a screen: it listens on a port of the loopback
interface and opens the browser there. Other users of this machine can reach the
port, and see nothing without the address, which only you can read.

--site is for administrators, behind Apache, nginx or Open OnDemand: see
etc/doc/web.md. It takes the user's name from the web server's account alone.`,
		Example: "  sluice web\n  sluice web --browser",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := terminal.Interruptible(cmd.Context())
			defer stop()
			err := o.run(ctx, cmd)
			if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
				return nil // Ctrl-C is how it ends
			}
			return err
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&o.socket, "socket", "", "path of the socket (default: in XDG_RUNTIME_DIR, else in a folder of your own below /tmp)")
	f.BoolVar(&o.browser, "browser", false, "open a browser on this machine")
	f.BoolVar(&o.site, "site", false, "serve all users, behind a web server that knows who they are")
	f.StringSliceVar(&o.proxy, "proxy", nil, "with --site: accounts of the web server, such as www-data")
	f.StringVar(&o.users, "users", "", "with --site: file that maps names of the web server to accounts")
	f.StringVar(&o.base, "base", "", "with --site: path of the pages, such as /sluice")
	return c
}

// check refuses options that do not go together.
func (o *options) check() error {
	switch {
	case o.site && o.browser:
		return errors.New("--site and --browser exclude each other")
	case o.site && o.socket == "":
		return errors.New("--site needs --socket PATH, to which the web server connects")
	case o.site && len(o.proxy) == 0:
		return errors.New("--site needs --proxy ACCOUNT, the account of the web server")
	case !o.site && (len(o.proxy) > 0 || o.users != "" || o.base != ""):
		return errors.New("--proxy, --users and --base belong to --site")
	case o.base != "" && (o.base[0] != '/' || o.base[len(o.base)-1] == '/' || filepath.Clean(o.base) != o.base):
		return fmt.Errorf("--base %q: want a path such as /sluice", o.base)
	}
	return nil
}

func (o *options) run(ctx context.Context, cmd *cobra.Command) error {
	if err := o.check(); err != nil {
		return err
	}
	site, err := reach.Site(cmd)
	if err != nil {
		return err
	}
	if o.site {
		return o.serveSite(ctx, site, cmd)
	}
	return o.serveOwn(ctx, site, cmd)
}

// Bounds of a connection. An answer may wait for Slurm; a stream sets its own.
const (
	readWithin  = 20 * time.Second
	writeWithin = 2 * time.Minute
	idleWithin  = 2 * time.Minute
	maxConns    = 512
	maxHeader   = 32 << 10
)

// serve answers on a listener until ctx ends.
func serve(ctx context.Context, l net.Listener, h http.Handler, peer func(context.Context, net.Conn) context.Context, errs io.Writer) error {
	s := &http.Server{Handler: h, ReadHeaderTimeout: readWithin, ReadTimeout: writeWithin, WriteTimeout: writeWithin, IdleTimeout: idleWithin,
		MaxHeaderBytes: maxHeader, ErrorLog: ownLog(errs), ConnContext: peer, BaseContext: func(net.Listener) context.Context { return ctx }}
	stopped := make(chan struct{})
	unhook := context.AfterFunc(ctx, func() {
		defer close(stopped)
		patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		if s.Shutdown(patience) != nil {
			s.Close()
		}
	})
	err := s.Serve(limit(l, maxConns))
	if !unhook() {
		<-stopped
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
