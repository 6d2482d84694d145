package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/reach"
	"github.com/sluice-hpc/sluice/cmd/sluice-web/door"
	"github.com/sluice-hpc/sluice/cmd/sluice-web/page"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/sweep/own"
	"github.com/sluice-hpc/sluice/etc"
)

// serveOwn serves one user's own pages.
func (o *options) serveOwn(ctx context.Context, site etc.Config, cmd *cobra.Command) error {
	out, errs := cmd.OutOrStdout(), cmd.ErrOrStderr()
	say := func(text string) { fmt.Fprintln(errs, "sluice web:", terminal.Escape(text)) }
	reach.TellRival(cmd)
	daemon, err := reach.Dial(site)
	if err != nil {
		return err
	}
	viewer := page.Viewer{UID: uint32(os.Getuid())}
	if me, err := user.Current(); err == nil {
		viewer.Name = me.Username
	}
	tool, err := newTool(cmd, site)
	if err != nil {
		return err
	}
	defer tool.wait()
	pages := page.New(page.Config{
		Viewer: func(*http.Request) (page.Viewer, error) { return viewer, nil },
		Daemon: func(page.Viewer) page.Daemon { return daemon },
		Sweeps: own.NewReader(site.Paths.Jobs, site.Paths.Outbox, viewer.UID, time.Now),
		Orders: tool, Tool: tool, Life: ctx, Live: page.NewHub(watch(daemon)), Now: time.Now,
		Log: func(err error) { say(err.Error()) },
	})
	if o.browser {
		return o.serveBrowser(ctx, pages, say, out, errs)
	}
	path := o.socket
	if path == "" {
		if path, err = ownSocket(); err != nil {
			return err
		}
	} else if path, err = filepath.Abs(path); err != nil {
		return err
	}
	l, err := listenUnix(path, 0o600)
	if err != nil {
		return err
	}
	d := door.NewOwn("", time.Now, say)
	printTunnel(out, path, viewer.Name, d.Token())
	go again(ctx, os.Stdin, func() { fmt.Fprintf(out, "  http://localhost:%d/login?token=%s\n", tunnelPort, d.Token()) })
	return serve(ctx, l, d.Wrap(pages), nil, errs)
}

// tunnelPort is the port of the user's own machine in what is printed.
const tunnelPort = 8642

// printTunnel prints how to reach the socket from the user's own machine.
func printTunnel(out io.Writer, path, name, token string) {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "LOGIN-NODE"
	}
	if name != "" {
		host = name + "@" + host
	}
	fmt.Fprintf(out, "On your own machine, type\n\n  ssh -N -L %d:%s %s\n\nand open there\n\n  http://localhost:%d/login?token=%s\n\n", tunnelPort, path, host, tunnelPort, token)
	fmt.Fprintf(out, "The address lets one browser in, within an hour. Enter: a new one. Ctrl-C: end.\n")
}

// again calls f for each line from the terminal. It ends with the input.
func again(ctx context.Context, in *os.File, f func()) {
	if info, err := in.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() && ctx.Err() == nil {
		f()
	}
}

// serveBrowser serves on a port of the loopback interface and opens a browser. Every user of the
// machine can connect to the port, so the pages have a name that nobody else knows: no page of
// another port has it, so no cookie goes there; and the address with the token is passed on in a
// file, since arguments of programs are visible to all.
func (o *options) serveBrowser(ctx context.Context, pages http.Handler, say func(string), out, errs io.Writer) error {
	if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return errors.New("--browser needs a screen (DISPLAY or WAYLAND_DISPLAY); without one, 'sluice web' prints what to type on your own machine")
	}
	opener, err := exec.LookPath("xdg-open")
	if err != nil {
		return errors.New("--browser needs xdg-open, which is not installed; 'sluice web' without it prints an address")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	raw := make([]byte, 8)
	_, _ = rand.Read(raw) // never fails
	host := "sluice-" + hex.EncodeToString(raw) + ".localhost"
	d := door.NewOwn(host, time.Now, say)
	address := fmt.Sprintf("http://%s:%d/login?token=%s", host, l.Addr().(*net.TCPAddr).Port, d.Token())
	file, err := redirect(address)
	if err != nil {
		l.Close()
		return err
	}
	defer os.Remove(file)
	fmt.Fprintf(out, "Opening %s in a browser, which leads to the pages. Ctrl-C ends them.\n", file)
	go func() {
		if err := exec.CommandContext(ctx, opener, file).Run(); err != nil && ctx.Err() == nil {
			say(fmt.Sprintf("xdg-open: %v; open %s yourself", err, file))
		}
	}()
	return serve(ctx, l, d.Wrap(pages), nil, errs)
}

// redirect writes a page that leads to the address, and that only the user can read.
func redirect(address string) (string, error) {
	socket, err := ownSocket() // for its folder
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp(filepath.Dir(socket), "sluice-web-*.html") // 0600
	if err != nil {
		return "", err
	}
	safe := strings.NewReplacer("&", "&amp;", `"`, "&#34;", "<", "&lt;").Replace(address)
	_, err = fmt.Fprintf(f, `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=%s"><title>sluice</title><p><a href="%s">To the pages of sluice</a></p>`, safe, safe)
	return f.Name(), errors.Join(err, f.Close())
}
