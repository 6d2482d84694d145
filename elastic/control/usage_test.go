package control_test

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/controltest"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
)

// What a report cannot be about is refused with what to type; it ends now at the latest, and
// where Slurm cannot be seen, with the last look.
func TestUsageRange(t *testing.T) {
	service := controltest.New()
	c := serve(t, options(), service)
	reachable(t, c)
	for _, bad := range []struct{ by, since, until, want string }{
		{"", "2026-03-01T00:00:00Z", "", "want account, user or model"},
		{"job", "2026-03-01T00:00:00Z", "", "want account, user or model"},
		{"user", "", "", "want a time as in RFC 3339"},
		{"user", "7d", "", "want a time as in RFC 3339"},
		{"user", "2026-03-01T00:00:00Z", "soon", "want a time as in RFC 3339"},
		{"user", "2026-03-04T12:00:00Z", "", "name an earlier --since"},
		{"user", "2026-03-05T12:00:00Z", "2026-03-06T12:00:00Z", "name an earlier --since"},
		{"user", "2026-03-02T12:00:00Z", "2026-03-01T12:00:00Z", "name an earlier --since"},
		{"user", "2025-03-03T11:59:59Z", "", "a range has at most 366 days"},
		{"user", "0001-01-01T00:00:00Z", "", "a range has at most 366 days"},
	} {
		status, body := as(t, controltest.AnnUID, c, "GET", "/v1/usage?"+url.Values{"by": {bad.by}, "since": {bad.since}, "until": {bad.until}}.Encode(), "")
		if status != 400 || !strings.Contains(body, bad.want) {
			t.Errorf("%+v: %d %s", bad, status, body)
		}
	}
	ask := func(until time.Time) wire.Usage {
		t.Helper()
		u, err := client.Dial(c).Usage(ctx, "user", controltest.Now.Add(-366*24*time.Hour), until)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	if u := ask(controltest.Now.Add(time.Hour)); !u.To.Equal(controltest.Now) {
		t.Errorf("until the future: %v", u.To)
	}
	if u := ask(controltest.Now.Add(-55 * time.Minute)); u.Total.Ended != 0 || u.Total.Running != 1 || u.Total.Waiting != 6 {
		t.Errorf("before any job ended: %+v", u.Total)
	}
	service.Set(func(s *controltest.Service) {
		next := *s.Last
		next.At, next.Blind = controltest.Now.Add(-time.Minute), "slurmctld cannot be reached"
		s.Last = &next
	})
	if u := ask(time.Time{}); !u.To.Equal(controltest.Now.Add(-time.Minute)) {
		t.Errorf("blind: %v", u.To)
	}
	service.Set(func(s *controltest.Service) { s.Last = nil })
	if _, err := client.Dial(c).Usage(ctx, "user", controltest.Now.Add(-time.Hour), time.Time{}); !errors.Is(err, wire.ErrUnavailable) {
		t.Errorf("before the first look: %v", err)
	}
}

// On a site that keeps jobs private a user's report has the user's own jobs, and says so;
// operators see all.
func TestUsageOfPrivateJobs(t *testing.T) {
	o := options()
	o.Private, o.Operators, o.Keeps = true, []string{"daemon"}, 90*24*time.Hour
	path := serve(t, o, controltest.New())
	reachable(t, path)
	for uid, want := range map[int][]string{controltest.AnnUID: {"ann"}, controltest.BobUID: {"bob"}, 1: {"ann", "bob"}, 0: {"ann", "bob"}, 65534: nil} {
		controltest.As(t, uid, func() {
			u, err := client.Dial(path).Usage(ctx, "user", controltest.Now.Add(-24*time.Hour), time.Time{})
			var got []string
			for _, row := range u.Rows {
				got = append(got, row.Name)
			}
			slices.Sort(got)
			if err != nil || !slices.Equal(got, want) || u.Own != (uid > 1) || !u.Kept.Equal(controltest.Now.Add(-o.Keeps)) {
				t.Errorf("uid %d: %v, %+v", uid, err, u)
			}
		})
	}
}

// A report of too many jobs is refused, with what to type.
func TestUsageOfTooManyJobs(t *testing.T) {
	defer control.LimitUsage(3)()
	_, err := client.Dial(serve(t, options(), controltest.New())).Usage(ctx, "user", controltest.Now.Add(-24*time.Hour), time.Time{})
	if !errors.Is(err, wire.ErrBadRequest) || !strings.Contains(err.Error(), "more than 3 jobs in that time (ask for less with --since and --until") {
		t.Errorf("%v", err)
	}
}

// gated is a daemon whose Past waits.
type gated struct {
	*controltest.Service
	mu          sync.Mutex
	now, most   int
	in, release chan struct{}
	late        bool // it also waits until the time for the answer is over
}

func (g *gated) Past(ctx context.Context, since time.Time, wanted func(journal.JobRecord) bool, each func(journal.JobRecord, []journal.Segment) error) error {
	g.mu.Lock()
	g.now++
	g.most = max(g.most, g.now)
	g.mu.Unlock()
	g.in <- struct{}{}
	<-g.release
	if g.late {
		<-ctx.Done()
	}
	g.mu.Lock()
	g.now--
	g.mu.Unlock()
	return g.Service.Past(ctx, since, wanted, each)
}

// One report is read at a time; other requests are answered meanwhile.
func TestOneUsageAtATime(t *testing.T) {
	const reports = 4
	g := &gated{Service: controltest.New(), in: make(chan struct{}, reports), release: make(chan struct{})}
	path := filepath.Join(t.TempDir(), "s", "sluiced.sock")
	server, c := open(t, path, options(), g), client.Dial(path)
	errs := make(chan error, reports)
	for range reports {
		go func() {
			_, err := c.Usage(ctx, "user", controltest.Now.Add(-24*time.Hour), time.Time{})
			errs <- err
		}()
	}
	<-g.in
	if _, err := c.Explain(ctx, elastic.JobID(controltest.Growing)); err != nil {
		t.Errorf("another request: %v", err)
	}
	reading := func() int {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.now
	}
	for server.ReportsWaiting()+reading() < reports { // ends with the test's deadline
		time.Sleep(time.Millisecond)
	}
	close(g.release)
	for range reports {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if g.most != 1 {
		t.Errorf("%d reports were read at a time", g.most)
	}
}

// A report that takes too long ends with what to type, and so does one that waited for it.
func TestUsageThatTakesTooLong(t *testing.T) {
	defer control.HurryUsage(50 * time.Millisecond)()
	g := &gated{Service: controltest.New(), in: make(chan struct{}, 2), release: make(chan struct{}), late: true}
	path := filepath.Join(t.TempDir(), "s", "sluiced.sock")
	server, c := open(t, path, options(), g), client.Dial(path)
	errs := make(chan error, 1)
	ask := func() error {
		_, err := c.Usage(ctx, "user", controltest.Now.Add(-24*time.Hour), time.Time{})
		return err
	}
	go func() { errs <- ask() }()
	<-g.in
	if err := ask(); !errors.Is(err, wire.ErrUnavailable) || !strings.Contains(err.Error(), "other reports are being made (try again in a minute)") {
		t.Errorf("it waited: %v", err)
	}
	close(g.release)
	if err := <-errs; !errors.Is(err, wire.ErrUnavailable) || !strings.Contains(err.Error(), "(ask for less with --since and --until)") {
		t.Errorf("it took too long: %v", err)
	}
	if server.ReportsWaiting() != 0 {
		t.Error("a report waits still")
	}
}
