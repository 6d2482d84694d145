package control_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
)

// Callers of the matrix. The job is ann's; "daemon" on every Debian and Red Hat
// is uid 1 and an operator here.
var callers = []struct {
	name string
	uid  int
}{{"owner", controltest.AnnUID}, {"other", controltest.BobUID}, {"operator", 1}, {"root", 0}, {"nobody", 65534}}

var ctx = context.Background()

// reused is a number that Slurm gave twice: first to a job of ann that ended, then to one of
// bob.
const reused elastic.JobID = 46

// targets are the jobs of the matrix: a number, and the incarnation that orders name.
var targets = []struct {
	name        string
	job         elastic.JobID
	incarnation int
}{
	{"own job that runs", controltest.Growing, 0},
	{"own, this incarnation", controltest.Growing, 2},
	{"own, old incarnation", controltest.Growing, 1},
	{"own job that ended", controltest.Finished, 0},
	{"number given again", reused, 0},
	{"no such job", 999, 0},
}

// matrixService is the canned daemon; its report is new after each wake. Ann's job that runs is a confined
// one, which Slurm runs as bob: that gives bob no rights, and takes none from ann.
type matrixService struct {
	*controltest.Service
}

func newMatrixService() *matrixService {
	s := &matrixService{controltest.New()}
	s.Last.Jobs[0].Record.SlurmUID = controltest.BobUID
	old, young := s.Last.Jobs[5], s.Last.Jobs[1] // ann's, ended; bob's, running
	old.Record.ID, young.Record.ID, young.Job.ID = reused, reused, reused
	young.Record.Submitted = old.Record.Submitted.Add(time.Hour)
	s.Last.Jobs = append(s.Last.Jobs, old, young)
	return s
}

func (s *matrixService) Wake() {
	s.Service.Wake()
	s.Set(func(c *controltest.Service) {
		next := *c.Last
		next.At = next.At.Add(time.Second)
		c.Last = &next
	})
}

// onJobs returns the rows of one target.
func onJobs(target int) []ask {
	at := targets[target]
	order := func(c wire.Change) func(*client.Client) (string, error) {
		c.Incarnation = at.incarnation
		return func(cl *client.Client) (string, error) { return "", cl.Direct(ctx, at.job, c) }
	}
	asks := []ask{
		{"explain", func(c *client.Client) (string, error) { _, err := c.Explain(ctx, at.job); return "", err }},
		{"history", func(c *client.Client) (string, error) { _, err := c.History(ctx, at.job); return "", err }},
		{"pin", order(wire.Change{Order: wire.Pin, GPUs: 2})},
		{"unpin", order(wire.Change{Order: wire.Unpin})},
		{"hold", order(wire.Change{Order: wire.Hold})},
		{"release", order(wire.Change{Order: wire.Release})},
		{"save", order(wire.Change{Order: wire.Save})},
		{"requeue", order(wire.Change{Order: wire.Requeue})},
		{"deadline", func(cl *client.Client) (string, error) {
			_, err := cl.Deadline(ctx, at.job, wire.Change{Incarnation: at.incarnation, Deadline: later})
			return "", err
		}},
	}
	if at.incarnation == 0 {
		asks = slices.Insert(asks, 2, ask{"whatif", func(c *client.Client) (string, error) {
			_, err := c.WhatIf(ctx, wire.WhatIf{JobID: int64(at.job), GPUs: 2})
			return "", err
		}})
	}
	if at.incarnation != 0 {
		return asks[2:] // only orders name an incarnation
	}
	return asks
}

type ask struct {
	verb string
	of   func(*client.Client) (string, error)
}

// pastOf asks for one list of the history: how many rows it has, of shares how many lines.
func pastOf(of string) func(*client.Client) (string, error) {
	return func(c *client.Client) (string, error) {
		p, err := c.Past(ctx, client.PastQuery{Of: of, From: controltest.Now.Add(-time.Hour)})
		rows := len(p.Moves) + len(p.Decisions) + len(p.Clusters)
		for _, s := range p.Shares {
			rows += len(s.Lines)
		}
		return fmt.Sprintf(" %d rows", rows), err
	}
}

// later is after every time of the matrix's clock.
var later = controltest.Now.AddDate(1, 0, 0)

var general = []ask{
	{"status", func(c *client.Client) (string, error) { _, err := c.Status(ctx); return "", err }},
	{"report", func(c *client.Client) (string, error) {
		r, err := c.Report(ctx)
		return fmt.Sprintf(" %d jobs", len(r.Jobs)), err
	}},
	{"shares", func(c *client.Client) (string, error) {
		s, err := c.Shares(ctx)
		return fmt.Sprintf(" %d lines", len(s.Lines)), err
	}},
	{"sweeps", func(c *client.Client) (string, error) {
		s, err := c.Sweeps(ctx)
		return fmt.Sprintf(" %d sweeps", len(s.Sweeps)), err
	}},
	{"plan", func(c *client.Client) (string, error) {
		p, err := c.Plan(ctx)
		return fmt.Sprintf(" %d jobs", len(p.Moves)+len(p.Later)+len(p.Stays)), err
	}},
	{"usage", func(c *client.Client) (string, error) {
		u, err := c.Usage(ctx, "user", controltest.Now.Add(-24*time.Hour), time.Time{})
		t := u.Total
		return fmt.Sprintf(" %d jobs", t.Ended+t.Running+t.Waiting), err
	}},
	{"past", func(c *client.Client) (string, error) {
		p, err := c.Past(ctx, client.PastQuery{From: controltest.Now.Add(-24 * time.Hour)})
		return fmt.Sprintf(" %d jobs", len(p.Jobs)), err
	}},
	{"moves", pastOf(wire.OfMoves)},
	{"decided", pastOf(wire.OfDecisions)},
	{"nodes", pastOf(wire.OfNodes)},
	{"shared", pastOf(wire.OfShares)},
	{"forecast", func(c *client.Client) (string, error) {
		f, err := c.Forecast(ctx)
		return fmt.Sprintf(" %d jobs", len(f.Jobs)), err
	}},
	{"speed", func(c *client.Client) (string, error) {
		_, err := c.Speeds(ctx, controltest.Model, nil) // of the caller's own jobs
		return "", err
	}},
	{"ann's", func(c *client.Client) (string, error) {
		uid := uint32(controltest.AnnUID)
		_, err := c.Speeds(ctx, controltest.Model, &uid)
		return "", err
	}},
	{"event", func(c *client.Client) (string, error) { return "", c.Event(ctx, 41, "end") }},
	{"trust", func(c *client.Client) (string, error) { return "", c.Trust(ctx, "gpu1") }},
}

// The whole matrix: verb x {owner, other user, operator, root, unknown uid} x {live job, old
// incarnation, ended job, reused number, no job} x {public, private}. It is written once and
// holds on the socket, where the kernel identifies callers, and over TCP, where munge does. "!"
// marks what was logged as a denial: all denials, and nothing else.
func TestMatrix(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED, other users not tested: needs root to become them")
	}
	tool, err := munge.New(controltest.Munged(t))
	if err != nil {
		t.Skip("SKIPPED: ", err)
	}
	var out [2][2]strings.Builder // private; over TCP
	var denials, requests atomic.Int64
	t.Run("tables", func(t *testing.T) {
		for private := range out {
			for tcp := range out[private] {
				t.Run(fmt.Sprintf("private=%d,tcp=%d", private, tcp), func(t *testing.T) {
					t.Parallel()
					d, r := table(t, &out[private][tcp], private == 1, tcp == 1, tool)
					denials.Add(int64(d))
					requests.Add(int64(r))
				})
			}
		}
	})
	golden(t, "matrix.txt", out[0][0].String()+out[1][0].String())
	for private := range out {
		if remote := out[private][1].String(); remote != out[private][0].String() {
			t.Errorf("over TCP it is\n%s", remote)
		}
	}
	t.Logf("%d requests, %d denials, all of them logged", requests.Load(), denials.Load())
}

func table(t *testing.T, out *strings.Builder, private, tcp bool, tool wire.Munge) (denials, requests int) {
	t.Helper()
	o := options()
	o.Operators, o.Private = []string{"daemon"}, private
	var minutes atomic.Int64 // no caller exceeds its rate
	o.Now = func() time.Time { return controltest.Now.Add(time.Duration(minutes.Add(1)) * time.Minute) }
	service := newMatrixService()
	f := listenWith(t, o, service, tool)
	reachable(t, f.socket)
	dial := func() *client.Client { return client.Dial(f.socket) }
	if tcp {
		dial = func() *client.Client { return client.DialRemote(f.Remote) }
	}
	fmt.Fprintf(out, "private = %-30v", private)
	for _, c := range callers {
		fmt.Fprintf(out, "%-13s", c.name)
	}
	out.WriteString("\n")
	row := func(target string, a ask, job elastic.JobID) {
		fmt.Fprintf(out, "%-10s%-30s", a.verb, target)
		for _, c := range callers {
			cell := ""
			before := len(orders(service))
			controltest.As(t, c.uid, func() { cell = outcome(a.of(dial())) })
			done := len(orders(service)) - before
			if effect := !slices.Contains([]string{"explain", "history", "whatif"}, a.verb) && job != 0 || a.verb == "trust"; effect && (cell == "yes") != (done == 1) {
				t.Errorf("%s %s by %s: answered %s, done %d times", a.verb, target, c.name, cell, done)
			}
			told := f.told()
			for _, d := range told {
				if int(d.Caller.UID) != c.uid || d.Job != job || (d.From != "") != tcp {
					t.Errorf("%s %s by %s: logged as %+v", a.verb, target, c.name, d)
				}
			}
			if cell == "denied" && len(told) != 1 || len(told) > 1 {
				t.Errorf("%s %s by %s: %s, and %d denials logged", a.verb, target, c.name, cell, len(told))
			}
			if requests++; len(told) == 1 {
				cell += "!"
				denials++
			}
			fmt.Fprintf(out, "%-13s", cell)
		}
		out.WriteString("\n")
	}
	for _, a := range general {
		row("", a, 0)
	}
	for i, target := range targets {
		for _, a := range onJobs(i) {
			row(target.name, a, target.job)
		}
	}
	out.WriteString("\n")
	return denials, requests
}

// orders returns the orders that the daemon received, without reads.
func orders(s *matrixService) []string {
	var out []string
	for _, a := range s.Asked() {
		if a != "wake" {
			out = append(out, a)
		}
	}
	return out
}

func outcome(more string, err error) string {
	switch {
	case err == nil:
		return "yes" + more
	case errors.Is(err, wire.ErrDenied):
		return "denied"
	case errors.Is(err, wire.ErrNotFound):
		return "not found"
	case errors.Is(err, wire.ErrConflict):
		return "conflict"
	}
	return err.Error()
}

// In user mode only the user itself and root are admitted, whatever they ask.
func TestMatrixOfUserMode(t *testing.T) {
	o := options()
	o.UserMode, o.UID = true, controltest.AnnUID
	var told atomic.Int64
	o.Denied = func(d control.Denial) {
		if d.Why == "" || d.Verb == "" {
			t.Errorf("logged %+v", d)
		}
		told.Add(1)
	}
	path := filepath.Join(t.TempDir(), "sock")
	open(t, path, o, newMatrixService())
	reachable(t, path)
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	rows := append(onJobs(0), general...)
	for _, a := range rows {
		var err error
		controltest.As(t, controltest.BobUID, func() { _, err = a.of(client.Dial(path)) })
		if !errors.Is(err, wire.ErrDenied) {
			t.Errorf("bob %s: %v", a.verb, err)
		}
	}
	if int(told.Load()) != len(rows) {
		t.Errorf("%d of %d denials logged", told.Load(), len(rows))
	}
}

// A job that its caller may not see is searched as long as one that does not exist: the time of
// the answer reveals nothing.
func TestHiddenTakesAsLong(t *testing.T) {
	o := options()
	o.Private = true
	var asked []string
	for _, job := range []elastic.JobID{controltest.Growing, 999} {
		service := newMatrixService()
		path := filepath.Join(t.TempDir(), "sock")
		open(t, path, o, service)
		reachable(t, path)
		var err error
		controltest.As(t, controltest.BobUID, func() { _, err = client.Dial(path).Explain(ctx, job) })
		if want := fmt.Sprintf("no sluice job %d", job); !errors.Is(err, wire.ErrNotFound) || !strings.Contains(err.Error(), want) {
			t.Errorf("job %d: %v", job, err)
		}
		asked = append(asked, strings.Join(service.Asked(), " "))
		if got := asked[len(asked)-1]; got != "wake wake" || got != asked[0] {
			t.Errorf("job %d: asked %q", job, got)
		}
	}
}
