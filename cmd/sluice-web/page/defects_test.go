package page_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/sluice-web/page"
	"github.com/sluice-hpc/sluice/cmd/sluice-web/webtest"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/nodes"
)

// Below a base path no redirect leads out of it, and what is not below it is no page.
func TestBase(t *testing.T) {
	h := setup(&webtest.Daemon{Jobs: 4, Nodes: 2}, func(c *page.Config) { c.Base = "/pun/sluice" })
	for path, want := range map[string]string{
		"/pun/sluice": "/pun/sluice/", "/pun/sluice?x=1": "/pun/sluice/?x=1", "/pun/sluice//jobs": "/pun/sluice/jobs", "/pun/sluice/../jobs?q=--me": "/pun/sluice/jobs?q=--me",
		"/pun/sluice/./time": "/pun/sluice/time", "/pun/sluice//evil.example/": "/pun/sluice/evil.example/",
		"/pun/sluice/": "", "/pun/sluice/jobs": "", "/pun/sluicex": "404", "/jobs": "404", "/": "404",
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.URL.Path, r.URL.RawQuery, _ = strings.Cut(path, "?")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		switch {
		case want == "404" && w.Code != http.StatusNotFound, want == "" && w.Code != http.StatusOK:
			t.Errorf("%s: %d to %q", path, w.Code, w.Header().Get("Location"))
		case strings.HasPrefix(want, "/") && w.Header().Get("Location") != want:
			t.Errorf("%s: %d to %q, want %s", path, w.Code, w.Header().Get("Location"), want)
		}
	}
}

// moving is a daemon some of whose jobs move.
type moving struct {
	*webtest.Daemon
	resizing, starting int
}

func (m moving) Present(ctx context.Context) (wire.Report, error) {
	r, err := m.Daemon.Present(ctx)
	for i := range r.Jobs {
		j := &r.Jobs[i]
		j.Move = nil
		if j.GPUs > 0 && m.resizing > 0 {
			m.resizing--
			j.Move = &wire.Move{Kind: "resize", Target: j.Place}
		} else if j.GPUs == 0 && m.starting > 0 {
			m.starting--
			j.Move = &wire.Move{Kind: "start", Target: nodes.Placement{{Node: "n", GPUs: 1}}}
		}
	}
	return r, err
}

// All jobs that are resized are counted; one that waits and is about to start is not resized.
func TestResizing(t *testing.T) {
	m := moving{&webtest.Daemon{Jobs: 60, Nodes: 30}, 20, 9}
	h := setup(nil, func(c *page.Config) { c.Daemon = func(page.Viewer) page.Daemon { return m } })
	body := get(t, h, "/").Body.String()
	if !strings.Contains(body, "<b>20</b> resizing") || !strings.Contains(body, "<b>45</b> running") || !strings.Contains(body, "<b>15</b> waiting") {
		t.Error(body[strings.Index(body, `id="now"`):][:500])
	}
	body = get(t, h, "/jobs").Body.String()
	if n := strings.Count(body, "s-resizing"); n != 20 {
		t.Errorf("%d jobs are called resizing", n)
	}
}

// busyPast is a daemon whose history has more jobs than a page reads.
type busyPast struct {
	*webtest.Daemon
	ended []wire.PastJob // by the time of their end
	asked int
}

func (b *busyPast) Past(ctx context.Context, q client.PastQuery) (wire.Past, error) {
	if q.Of != wire.OfJobs {
		return b.Daemon.Past(ctx, q)
	}
	b.asked++
	from := 0
	_, _ = fmt.Sscan(q.Cursor, &from)
	p := wire.Past{Of: q.Of, From: q.From}
	for i := from; i < len(b.ended); i++ {
		if b.ended[i].EndedAt.Before(q.From) {
			continue
		}
		if len(p.Jobs) == q.Limit {
			p.Next = fmt.Sprint(i)
			break
		}
		p.Jobs = append(p.Jobs, b.ended[i])
	}
	return p, nil
}

// Of more jobs than a page reads the oldest are left out, and the page says so.
func TestNewestJobs(t *testing.T) {
	b := &busyPast{Daemon: &webtest.Daemon{Jobs: 1, Nodes: 1}}
	for i := range 9000 {
		end := webtest.Now.Add(-time.Duration(9000-i) * 2 * time.Second) // five hours
		b.ended = append(b.ended, wire.PastJob{JobID: int64(10_000 + i), Name: "x", State: "COMPLETED", Min: 1, Submitted: end.Add(-time.Minute), EndedAt: end,
			Runs: []wire.Segment{{GPUs: 1, Started: end.Add(-30 * time.Second), Ended: end, Place: nodes.Placement{{Node: "gpu001", GPUs: 1}}}}})
	}
	h := setup(nil, func(c *page.Config) { c.Daemon = func(page.Viewer) page.Daemon { return b } })
	for path, want := range map[string]string{"/time?range=6h": ">18999<", "/saved?days=1": "are left out", "/replay?range=6h": "are left out"} {
		b.asked = 0
		body := get(t, h, path).Body.String()
		if !strings.Contains(body, want) || !strings.Contains(body, "are left out") || b.asked > 20 {
			t.Errorf("%s: no %q, after %d requests", path, want, b.asked)
		}
	}
	at := int((6*time.Hour - 10*time.Second).Seconds())
	if body := get(t, h, fmt.Sprintf("/replay?range=6h&at=%d", at)).Body.String(); !strings.Contains(body, "/jobs/18998") {
		t.Error("the replay lacks a job that ended last")
	}
}

// outage is a daemon that recorded nothing for some hours, and later had no answer from Slurm.
type outage struct{ *webtest.Daemon }

func (o outage) Past(ctx context.Context, q client.PastQuery) (wire.Past, error) {
	p, err := o.Daemon.Past(ctx, q)
	if q.Of == wire.OfNodes {
		p.Clusters = nil
		for at := webtest.Now.Add(-23 * time.Hour); at.Before(webtest.Now); at = at.Add(time.Minute) {
			hours := webtest.Now.Sub(at).Hours()
			if hours > 8 && hours < 12 {
				continue
			}
			p.Clusters = append(p.Clusters, wire.PastCluster{At: at, Seconds: 60, GPUs: 16, Used: 12, Elastic: 9, Free: 4, Running: 7, Blind: hours < 2 && hours > 1})
		}
	}
	return p, err
}

// While sluiced did not run, or Slurm did not answer, the replay shows a gap, not the state before it.
func TestReplayGaps(t *testing.T) {
	h := setup(nil, func(c *page.Config) {
		c.Daemon = func(page.Viewer) page.Daemon { return outage{&webtest.Daemon{Jobs: 4, Nodes: 2}} }
	})
	for hours, want := range map[float64]string{23.5: "not recorded at this time", 10: "not recorded at this time", 1.5: "Slurm did not answer sluiced", 5: "<b>12<small>/16", 11.99: "<b>12<small>/16", 0: "<b>12<small>/16"} {
		body := get(t, h, fmt.Sprintf("/replay?range=24h&at=%d", int((24-hours)*3600))).Body.String()
		if !strings.Contains(body, want) || (want[0] != '<') == strings.Contains(body, "<b>12<small>/16") || !strings.Contains(body, `class="swatch gap"`) {
			t.Errorf("%v hours ago: no %q", hours, want)
		}
	}
}

// Pages offer what they can give: no orders about another user's job, and no cancelling where that needs
// the user's own account. What to type is shown.
func TestOffers(t *testing.T) {
	d := &webtest.Daemon{Jobs: 8, Nodes: 3}
	for _, c := range []struct {
		lacks, path string
		offered     bool
		want        string
	}{
		{"", "/whatif?job=4001&change=cancel", true, "Cancel job 4001"},
		{"cancel", "/whatif?job=4001&change=cancel", false, "sluice cancel 4001"},
		{"cancel", "/whatif?job=4001&change=hold", true, "sluice hold 4001"},
		{"", "/whatif?job=4002&change=cancel", false, "sluice cancel 4002"},
		{"", "/whatif?job=4002&change=resize&gpus=3", false, "sluice resize 4002 --gpus 3"},
		{"", "/jobs/4001", true, `value="cancel"`},
		{"cancel", "/jobs/4001", true, "sluice cancel 4001"},
	} {
		body := get(t, setup(d, func(o *page.Config) { o.Orders = &clerk{lacks: c.lacks} }), c.path).Body.String()
		if strings.Contains(body, `action="/order"`) != c.offered || !strings.Contains(body, c.want) {
			t.Errorf("%+v: offered %t", c, !c.offered)
		}
		if c.lacks == "cancel" && strings.Contains(body, `class="danger"`) {
			t.Errorf("%+v: offers to cancel", c)
		}
	}
}
