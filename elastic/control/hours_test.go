package control_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/controltest"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/nodes"
)

// pastDaemon is a daemon with these jobs in its store, one run of 1 GPU each; it counts how often they
// are read.
type pastDaemon struct {
	*controltest.Service
	jobs  []journal.JobRecord
	reads atomic.Int32
	took  func()
	slow  bool // it takes longer than a report may
	err   error
}

func (d *pastDaemon) Past(ctx context.Context, since time.Time, wanted func(journal.JobRecord) bool, each func(journal.JobRecord, []journal.Segment) error) error {
	d.reads.Add(1)
	if d.took != nil {
		d.took()
	}
	if d.slow {
		<-ctx.Done()
	}
	for _, j := range d.jobs {
		if !wanted(j) || j.Ended.Before(since) {
			continue
		}
		if err := each(j, []journal.Segment{{Started: j.FirstRun, Ended: j.Ended, Place: nodes.Placement{{Node: "n", GPUs: 1}}}}); err != nil {
			return err
		}
	}
	return d.err
}

// ran is a job of a user of an account that ran for an hour, this many hours ago.
func ran(account, user string, ago int) journal.JobRecord {
	end := controltest.Now.Add(-time.Duration(ago) * time.Hour)
	return journal.JobRecord{Identity: journal.Identity{Owner: elastic.Owner{User: user}, Account: journal.Account{Name: account, Known: true}},
		Life: journal.Life{Submitted: end.Add(-2 * time.Hour), FirstRun: end.Add(-time.Hour), Ended: end}}
}

// hoursOf writes the lines that have hours.
func hoursOf(s wire.Shares) map[string]string {
	out := map[string]string{}
	for _, l := range s.Lines {
		if h := l.Hours; h != nil && *h != (wire.GPUHours{}) {
			out[strings.Trim(l.Account+"/"+l.User, "/")] = fmt.Sprint(h.Day, h.Week, h.Month)
		}
	}
	return out
}

// TestSharesHours: accounts have the hours of all below them, users without jobs now and accounts that
// are gone are listed, users that are not told apart count together; each caller sees the users that it
// may see.
func TestSharesHours(t *testing.T) {
	d := &pastDaemon{Service: controltest.New(), jobs: []journal.JobRecord{
		ran("theory", "ann", 1), ran("theory", "eve", 30), ran("phys", "ann", 200), ran("bio", "bob", 800), ran("gone", "eve", 3), ran("gone", "joe", 3),
		{Identity: journal.Identity{Owner: elastic.Owner{User: "ann"}, Account: journal.Account{Name: "bio", Known: true}}, Life: journal.Life{Submitted: controltest.Now.Add(-time.Hour)}},
	}}
	all := map[string]string{"root": "1 2 3", "phys": "1 2 3", "phys/ann": "0 0 1", "theory": "1 2 2", "theory/ann": "1 1 1", "theory/eve": "0 1 1", "gone": "2 2 2", "gone/eve": "1 1 1", "gone/joe": "1 1 1"}
	for _, private := range []bool{false, true} {
		o := options()
		o.Private, o.Operators = private, []string{"daemon"}
		path := serve(t, o, d)
		reachable(t, path)
		for uid, want := range map[int]map[string]string{controltest.AnnUID: {"phys/ann": "0 0 1", "theory/ann": "1 1 1"}, controltest.BobUID: {}, 0: all, 1: all} {
			if !private {
				want = all
			}
			controltest.As(t, uid, func() {
				s, err := client.Dial(path).Shares(ctx)
				if got := hoursOf(s); err != nil || !maps.Equal(got, want) || !s.HoursTo.Equal(controltest.Now) || s.NoHours != "" {
					t.Errorf("private %t, uid %d: %v, %v, want %v; %+v", private, uid, err, got, want, s)
				}
			})
		}
	}
}

// TestHoursAreAddedUpSeldom: once a minute, and where that takes long in a twentieth of the time; at once
// after the clock was set back.
func TestHoursAreAddedUpSeldom(t *testing.T) {
	var mu sync.Mutex
	now := controltest.Now
	pass := func(by time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(by)
	}
	o := options()
	o.Now = func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	d := &pastDaemon{Service: controltest.New()}
	c := client.Dial(serve(t, o, d))
	for _, step := range []struct {
		pass, took time.Duration
		want       int32
	}{{0, 0, 1}, {59 * time.Second, 0, 1}, {time.Second, 0, 2}, {time.Second, 0, 2}, {-time.Hour, 10 * time.Second, 3}, {199 * time.Second, 0, 3}, {time.Second, 0, 4}} {
		pass(step.pass)
		d.took = func() { pass(step.took) }
		if _, err := c.Shares(ctx); err != nil || d.reads.Load() != step.want {
			t.Fatalf("%+v: %v, read %d times", step, err, d.reads.Load())
		}
	}
}

// TestNoHours: where they cannot be added up the shares are shown without, with the reason, and that is
// not tried again at once.
func TestNoHours(t *testing.T) {
	t.Run("too many jobs", func(t *testing.T) {
		defer control.LimitUsage(1)()
		noHours(t, &pastDaemon{Service: controltest.New(), jobs: []journal.JobRecord{ran("bio", "bob", 1), ran("bio", "bob", 2)}}, "more than 1 jobs in the last 30 days; 'sluice report' has shorter ranges")
	})
	t.Run("broken store", func(t *testing.T) {
		noHours(t, &pastDaemon{Service: controltest.New(), err: errors.New("read past jobs: disk I/O error")}, "read past jobs: disk I/O error")
	})
	t.Run("too slow", func(t *testing.T) {
		defer control.HurryUsage(20 * time.Millisecond)()
		d := &pastDaemon{Service: controltest.New(), err: context.DeadlineExceeded, slow: true}
		noHours(t, d, "they were not added up within 20ms; 'sluice report' has shorter ranges")
	})
}

func noHours(t *testing.T, d *pastDaemon, want string) {
	t.Helper()
	c := client.Dial(serve(t, options(), d))
	for range 2 {
		s, err := c.Shares(ctx)
		if err != nil || s.NoHours != want || len(s.Lines) == 0 || s.Lines[0].Hours != nil || !s.HoursTo.IsZero() || d.reads.Load() != 1 {
			t.Errorf("%v, %q, %d reads, %+v", err, s.NoHours, d.reads.Load(), s)
		}
	}
}

// TestHoursWithoutShares: where shares do not count, or no tree is known, nothing is read.
func TestHoursWithoutShares(t *testing.T) {
	for _, shares := range []publish.Shares{{}, {Count: true, Why: "sacctmgr: no answer"}} {
		d := &pastDaemon{Service: controltest.New()}
		next := *d.Last
		next.Shares = shares
		d.Last = &next
		if s, err := client.Dial(serve(t, options(), d)).Shares(ctx); err != nil || len(s.Lines) > 0 || d.reads.Load() != 0 || s.NoHours != "" {
			t.Errorf("%v, %+v, %d reads", err, s, d.reads.Load())
		}
	}
}

// TestHoursWhileBlind: they end when Slurm was last seen.
func TestHoursWhileBlind(t *testing.T) {
	d := &pastDaemon{Service: controltest.New(), jobs: []journal.JobRecord{ran("bio", "bob", 0)}}
	next := *d.Last
	next.At, next.Blind = controltest.Now.Add(-30*time.Minute), "slurmctld cannot be reached"
	d.Last = &next
	s, err := client.Dial(serve(t, options(), d)).Shares(ctx)
	if got := hoursOf(s); err != nil || got["bio/bob"] != "0.5 0.5 0.5" || !s.HoursTo.Equal(next.At) {
		t.Errorf("%v, %v, %+v", err, got, s)
	}
}
