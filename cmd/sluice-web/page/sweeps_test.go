package page_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/sluice-web/page"
	"github.com/sluice-hpc/sluice/cmd/sluice-web/webtest"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/sweep/own"
)

// A sweep of 10,000 trials of 52 epochs has a small page, and leads to all of its trials; how much is
// allocated is bounded.
func TestLargeSweep(t *testing.T) {
	sweeps := &webtest.Sweeps{Trials: 10_000, Epochs: 52}
	h := setup(&webtest.Daemon{Jobs: 40, Nodes: 12}, func(c *page.Config) { c.Sweeps = sweeps })
	for path, want := range map[string]string{
		"/sweeps/4001": "from=100", "/sweeps/4001?from=9950": "from=9850", "/sweeps/4001?from=-3": "from=100", "/sweeps/4001?from=99999&sort=number": ">10000<",
		"/sweeps/4001?sort=number": "sort=number",
	} {
		w := get(t, h, path)
		if body := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(body, want) || len(body) > 300<<10 {
			t.Errorf("%s: %d, %d KB, no %q", path, w.Code, len(body)>>10, want)
		} else {
			t.Logf("%s: %d KB", path, len(body)>>10)
		}
	}
	r := httptest.NewRequest("GET", "/sweeps/4001", nil)
	if n := testing.AllocsPerRun(2, func() { h.ServeHTTP(httptest.NewRecorder(), r) }); n > 150_000 {
		t.Errorf("%.0f allocations", n)
	}
}

// Where the pages do not read the viewer's folders they show what sluiced publishes, and no parameters;
// they offer no orders, and say what to type.
func TestPublishedSweep(t *testing.T) {
	h := setup(&webtest.Daemon{Jobs: 40, Nodes: 12, Private: true}, func(c *page.Config) { c.Sweeps, c.Tool, c.Orders = nil, nil, &clerk{lacks: "sweep"} })
	for path, want := range map[string][]string{
		"/sweeps":      {"/sweeps/4001", "/sweeps/4002", "these are your own", "sluice sweep list"},
		"/sweeps/4001": {"0.911", "Best so far", "Level of sweep 4001", "/jobs/4007", "sluice sweep show 4001", "sluice sweep pause 4001"},
		"/sweeps/4002": {"0.911", "folders of bob"},
	} {
		body := get(t, h, path).Body.String()
		for _, w := range want {
			if !strings.Contains(body, w) {
				t.Errorf("%s: no %q", path, w)
			}
		}
		for _, never := range []string{"depth", "sgd", `class="danger"`, "/stop"} {
			if strings.Contains(body, never) {
				t.Errorf("%s has %q", path, never)
			}
		}
	}
	for _, path := range []string{"/sweeps/3500", "/sweeps/77", "/sweeps/x", "/sweeps/0"} {
		if w := get(t, h, path); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	for _, path := range []string{"/sweeps/4001/stop", "/sweeps/4002/pause"} {
		if w := get(t, h, path); w.Code != http.StatusForbidden {
			t.Errorf("%s: %d", path, w.Code)
		}
		if w := post(t, h, path, nil); w.Code != http.StatusForbidden {
			t.Errorf("POST %s: %d", path, w.Code)
		}
	}
}

// sections are parts of a page, by their names.
func sections(t *testing.T, h http.Handler, path string, names ...string) (out []string) {
	t.Helper()
	body := get(t, h, path).Body.String()
	for _, name := range names {
		_, rest, found := strings.Cut(body, `<section id="`+name+`">`)
		part, _, whole := strings.Cut(rest, "</section>")
		if !found || !whole {
			t.Errorf("%s: no section %s", path, name)
		}
		out = append(out, part)
	}
	return out
}

// Behind a site's web server a user's own sweep has the same trials, curves and parameters as the pages of the
// user's own folders; others' sweeps have none, except for operators. What cannot be had is said.
func TestSweepBehindASite(t *testing.T) {
	trials := &webtest.Sweeps{Trials: 150, Epochs: 30}
	site := func(operator bool) (*resized, http.Handler) {
		r := &resized{Daemon: &webtest.Daemon{Jobs: 40, Nodes: 12, Trials: trials, Operator: operator}}
		return r, setup(nil, func(c *page.Config) {
			c.Sweeps, c.Tool, c.Orders = nil, nil, &clerk{lacks: "sweep"}
			c.Daemon = func(page.Viewer) page.Daemon { return r }
		})
	}
	r, h := site(false)
	mine := setup(nil, func(c *page.Config) {
		c.Sweeps = trials
		c.Daemon = func(page.Viewer) page.Daemon { return &resized{Daemon: &webtest.Daemon{Jobs: 40, Nodes: 12}} }
	})
	for _, path := range []string{"/sweeps/4001", "/sweeps/4001?sort=number&from=100", "/sweeps/4001?from=9999"} {
		names := []string{"curves", "params", "trials", "best"}
		if got, want := sections(t, h, path, names...), sections(t, mine, path, names...); !slices.Equal(got, want) {
			t.Errorf("%s: not as from the user's own folders: %.300q", path, got)
		}
	}
	if body := get(t, h, "/sweeps/4001").Body.String(); !strings.Contains(body, "momentum = ") || !strings.Contains(body, "sluice sweep pause 4001") || strings.Contains(body, "/stop") || r.of[0] != webtest.Ann {
		t.Errorf("runs of %q", r.of)
	}
	if body := get(t, h, "/sweeps/4002").Body.String(); strings.Contains(body, "momentum") || !strings.Contains(body, "folders of bob") {
		t.Error("a sweep of bob for ann")
	}
	r, h = site(true)
	if body := get(t, h, "/sweeps/4002").Body.String(); !strings.Contains(body, "momentum = ") || !slices.Equal(r.of, []string{webtest.Bob}) {
		t.Errorf("a sweep of bob for an operator: runs of %q", r.of)
	}
	trials.Err = own.ErrBusy
	_, h = site(false)
	if w := get(t, h, "/sweeps/4001"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "The trials are missing: the folders") || !strings.Contains(w.Body.String(), "0.911") || strings.Contains(w.Body.String(), "folders of ann") {
		t.Errorf("%d", w.Code)
	}
}

// An order about a sweep is asked about first, is given once by sluice sweep, and only about the viewer's
// own sweeps.
func TestSweepOrders(t *testing.T) {
	k := &clerk{said: "sweep 4001: paused"}
	h := setup(&webtest.Daemon{Jobs: 40, Nodes: 12}, func(c *page.Config) { c.Orders = k })
	for _, verb := range []string{"pause", "resume", "stop"} {
		w := get(t, h, "/sweeps/4001/"+verb)
		if body := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(body, "sluice sweep "+verb+" 4001") || !strings.Contains(body, `method="post" action="/sweeps/4001/`+verb+`"`) || len(k.given) > 0 {
			t.Errorf("%s: %d, ordered %q", verb, w.Code, k.given)
		}
		w = post(t, h, "/sweeps/4001/"+verb, nil)
		if w.Code != http.StatusSeeOther || !slices.Equal(k.given, []string{"ann: sweep " + verb + " 4001"}) {
			t.Errorf("%s: %d, ordered %q", verb, w.Code, k.given)
		}
		if body := get(t, h, w.Header().Get("Location")).Body.String(); !strings.Contains(body, "/sweeps/4001") || !strings.Contains(body, "paused") {
			t.Errorf("%s: its result: %s", verb, body)
		}
		k.given = nil
	}
	for path, want := range map[string]int{"/sweeps/4002/stop": http.StatusForbidden, "/sweeps/77/stop": http.StatusNotFound, "/sweeps/4001/extend": http.StatusNotFound, "/sweeps/4001/cancel": http.StatusNotFound} {
		if w := get(t, h, path); w.Code != want {
			t.Errorf("%s: %d", path, w.Code)
		}
		if w := post(t, h, path, nil); w.Code != want || len(k.given) > 0 {
			t.Errorf("POST %s: %d, ordered %q", path, w.Code, k.given)
		}
	}
	for path, offered := range map[string]bool{"/sweeps/4001": true, "/sweeps/4002": false, "/sweeps/3500": false} {
		if body := get(t, h, path).Body.String(); strings.Contains(body, "/pause") != offered || strings.Contains(body, "/stop") != offered {
			t.Errorf("%s: orders offered: %t", path, !offered)
		}
	}
}

// The page of a lane leads to its sweep and names the trial that it runs; an ordinary job's does not.
func TestLaneOfSweep(t *testing.T) {
	h := setup(&webtest.Daemon{Jobs: 12, Nodes: 6}, nil)
	if body := get(t, h, "/jobs/4007").Body.String(); !strings.Contains(body, `href="/sweeps/4001"`) || !strings.Contains(body, "runs trials 7, 27<") {
		t.Error("the page of a lane")
	}
	if body := get(t, h, "/jobs/4003").Body.String(); strings.Contains(body, `href="/sweeps/`) || strings.Contains(body, "a lane of") {
		t.Error("the page of an ordinary job")
	}
	older := setup(&webtest.Daemon{Jobs: 12, Nodes: 6, NoNews: wire.Fail(wire.NotFound, "", "sluiced has no such request")}, nil)
	if w := get(t, older, "/jobs/4007"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "a lane of a sweep") {
		t.Errorf("an older sluiced: %d", w.Code)
	}
}

// resized is a daemon whose lanes had other sizes than they have.
type resized struct {
	*webtest.Daemon
	asked int
	of    []string // users
}

func (r *resized) Past(ctx context.Context, q client.PastQuery) (wire.Past, error) {
	r.asked++
	r.of = append(r.of, q.User)
	at := func(minutes int) time.Time { return webtest.Now.Add(-time.Duration(minutes) * time.Minute) }
	return wire.Past{Jobs: []wire.PastJob{
		{JobID: webtest.FirstJob, Runs: []wire.Segment{{GPUs: 1, Started: at(40), Ended: at(20)}, {GPUs: 2, Started: at(20), Ended: at(10)}, {GPUs: 16, Started: at(10)}}},
		{JobID: webtest.FirstJob + 6, Runs: []wire.Segment{{GPUs: 1, Started: at(40), Ended: at(15)}, {GPUs: 4, Started: at(8)}}},
	}}, nil
}

// Curves have the colours of the GPUs that their lanes had when the results were reported; without the
// runs of the lanes they have none. Pages that are loaded again soon do not ask for the runs again.
func TestCurveColours(t *testing.T) {
	r := &resized{Daemon: &webtest.Daemon{Jobs: 12, Nodes: 6}}
	h := setup(nil, func(c *page.Config) { c.Daemon = func(page.Viewer) page.Daemon { return r } })
	used := func(body string) (out []string) {
		for _, m := range regexp.MustCompile(`<path class="(w\d+)"`).FindAllStringSubmatch(body, -1) {
			if !slices.Contains(out, m[1]) {
				out = append(out, m[1])
			}
		}
		slices.Sort(out)
		return out
	}
	for range 3 {
		body := get(t, h, "/sweeps/4001").Body.String()
		if got := used(body); !slices.Equal(got, []string{"w0", "w1", "w16", "w2", "w4"}) || !strings.Contains(body, "9 to 16 GPUs") || strings.Contains(body, "5 to 8 GPUs") {
			t.Errorf("%v", got)
		}
	}
	if r.asked != 1 {
		t.Errorf("asked %d times", r.asked)
	}
	h = setup(&webtest.Daemon{Jobs: 12, Nodes: 6, NoNews: errGone}, nil)
	if got := used(get(t, h, "/sweeps/4001").Body.String()); !slices.Equal(got, []string{"w0"}) {
		t.Errorf("without runs: %v", got)
	}
}

// Folders that hang delay nothing but their own page, which says so.
func TestFoldersHang(t *testing.T) {
	h := setup(&webtest.Daemon{Jobs: 12, Nodes: 6}, func(c *page.Config) { c.Sweeps = &webtest.Sweeps{Err: own.ErrBusy} })
	if w := get(t, h, "/sweeps"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "cannot be read in time") || !strings.Contains(w.Body.String(), "/sweeps/4002") {
		t.Errorf("%d", w.Code)
	}
	for path, want := range map[string]int{"/sweeps/4002": http.StatusOK, "/sweeps/3500": http.StatusServiceUnavailable} {
		if w := get(t, h, path); w.Code != want {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	h = setup(&webtest.Daemon{Jobs: 0, Nodes: 1}, func(c *page.Config) { c.Sweeps = none{} })
	if w := get(t, h, "/sweeps"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "no sweeps") {
		t.Errorf("no sweeps: %d", w.Code)
	}
	if w := get(t, h, fmt.Sprint("/sweeps/", webtest.FirstJob)); w.Code != http.StatusNotFound {
		t.Errorf("no sweep: %d", w.Code)
	}
}

// none are the folders of a user without sweeps.
type none struct{}

func (none) List(context.Context) ([]own.Summary, error)        { return nil, nil }
func (none) Look(context.Context, int64, func(*own.View)) error { return own.ErrNotFound }
