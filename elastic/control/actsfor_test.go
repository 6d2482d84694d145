package control_test

import (
	stdcontext "context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/controltest"
	"github.com/sluice-hpc/sluice/elastic/control/munge"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/feed"
	"github.com/sluice-hpc/sluice/elastic/sweep/digest"
)

// webUID is the account of the site's web program.
const webUID = 1003

// webOptions are those of a site with a web program and with jobs that are private.
func webOptions() control.Options {
	o := options()
	accounts := map[uint32]string{0: "root", 1: "daemon", controltest.AnnUID: "ann", controltest.BobUID: "bob", webUID: "sluice-web", 4242: "sluice"}
	o.Account = func(uid uint32) string { return accounts[uid] }
	o.UIDOf = func(name string) (uint32, bool) {
		for uid, is := range accounts {
			if is == name {
				return uid, true
			}
		}
		if name == "annalias" { // a second name of ann's uid
			return controltest.AnnUID, true
		}
		return 0, false
	}
	o.Operators, o.Private, o.Web = []string{"daemon"}, true, "sluice-web"
	return o
}

// What the web program is answered for whom: the rows are requests, the columns the user that it names;
// each block is one setting of [web].
func TestActsForMatrix(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED, other users not tested: needs root to become them")
	}
	var out strings.Builder
	names := []string{"", "ann", "bob", "daemon", "root", "sluice", "annalias", "nobody-here"}
	for _, set := range []struct {
		caller         int
		acts, operates bool
	}{{webUID, false, false}, {webUID, true, false}, {webUID, true, true}, {controltest.AnnUID, true, true}, {0, true, true}} {
		o := webOptions()
		o.WebActs, o.WebOperators = set.acts, set.operates
		var minutes atomic.Int64
		o.Now = func() time.Time { return controltest.Now.Add(time.Duration(minutes.Add(1)) * time.Minute) }
		var denials atomic.Int64
		o.Denied = func(control.Denial) { denials.Add(1) }
		service := newMatrixService()
		path := filepath.Join(t.TempDir(), "s", "sock")
		open(t, path, o, service)
		reachable(t, path)
		fmt.Fprintf(&out, "caller %-6d act %-6v operators %v\n%-12s", set.caller, set.acts, set.operates, "")
		for _, name := range names {
			fmt.Fprintf(&out, "%-13s", name)
		}
		out.WriteString("\n")
		for _, a := range []ask{
			{"report", general[1].of},
			{"explain", func(c *client.Client) (string, error) { _, err := c.Explain(ctx, controltest.Growing); return "", err }},
			{"sweeps", func(c *client.Client) (string, error) {
				s, err := c.Sweeps(ctx)
				return fmt.Sprintf(" %d", len(s.Sweeps)), err
			}},
			{"trials", func(c *client.Client) (string, error) {
				s, err := c.Sweep(ctx, int64(controltest.Growing), digest.Query{})
				return fmt.Sprintf(" %d", len(s.Trials)), err
			}},
			{"hold", func(c *client.Client) (string, error) {
				return "", c.Direct(ctx, controltest.Growing, wire.Change{Order: wire.Hold})
			}},
			{"deadline", func(c *client.Client) (string, error) {
				_, err := c.Deadline(ctx, controltest.Growing, wire.Change{Deadline: later})
				return "", err
			}},
			{"whatif", func(c *client.Client) (string, error) {
				_, err := c.WhatIf(ctx, wire.WhatIf{JobID: int64(controltest.Growing), End: true})
				return "", err
			}},
			{"trust", func(c *client.Client) (string, error) { return "", c.Trust(ctx, "gpu1") }},
			{"events", func(c *client.Client) (string, error) {
				happen(service.Events(), "x", feed.Everyone, 0)
				err := c.Events(ctx, "test-0", func(wire.Happening) error { return errEnough })
				if errors.Is(err, errEnough) {
					err = nil
				}
				return "", err
			}},
		} {
			fmt.Fprintf(&out, "%-12s", a.verb)
			for _, name := range names {
				before := denials.Load()
				var cell string
				controltest.As(t, set.caller, func() {
					c := client.Dial(path)
					if name != "" {
						c = c.As(name)
					}
					cell = outcome(a.of(c))
				})
				if denials.Load() != before {
					cell += "!"
				}
				fmt.Fprintf(&out, "%-13s", strings.ReplaceAll(cell, "no account nobody-here on sluiced's host", "no account"))
			}
			out.WriteString("\n")
		}
		out.WriteString("\n")
	}
	golden(t, "actsfor.txt", out.String())
}

// The service is told both names.
func TestActsForIsToldToTheService(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED, other users not tested: needs root to become them")
	}
	o := webOptions()
	o.WebActs = true
	service := &noting{Service: controltest.New()}
	path := filepath.Join(t.TempDir(), "s", "sock")
	open(t, path, o, service)
	reachable(t, path)
	controltest.As(t, webUID, func() {
		if err := client.Dial(path).As("ann").Direct(ctx, controltest.Growing, wire.Change{Order: wire.Hold}); err != nil {
			t.Error(err)
		}
	})
	if c := service.by; c.Name != "ann" || c.Via != "sluice-web" || c.UID != controltest.AnnUID {
		t.Errorf("ordered by %+v", c)
	}
}

// noting is a service that remembers who gave the last order.
type noting struct {
	*controltest.Service
	by control.Caller
}

func (n *noting) Direct(_ stdcontext.Context, c control.Caller, _ elastic.JobID, _ wire.Change) error {
	n.by = c
	return nil
}

// Over TCP nobody asks for another user, whatever program sends the request; and the client does not try.
func TestActsForIsRefusedOverTCP(t *testing.T) {
	tool, err := munge.New(controltest.Munged(t))
	if err != nil {
		t.Skip("SKIPPED: ", err)
	}
	o := webOptions()
	o.Account = func(uint32) string { return "sluice-web" }
	f := listenWith(t, o, controltest.New(), tool)
	_, err = client.DialRemote(f.Remote).As("ann").Report(ctx)
	if !errors.Is(err, wire.ErrDenied) {
		t.Errorf("asked over TCP: %v", err)
	}
	// A letter has no header fields, so that there is no way to name one.
	if _, err := client.DialRemote(f.Remote).Report(ctx); err != nil {
		t.Errorf("the same without: %v", err)
	}
}
