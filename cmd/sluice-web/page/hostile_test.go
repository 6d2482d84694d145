package page_test

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/cmd/sluice-web/page"
	"github.com/sluice-hpc/sluice/cmd/sluice-web/webtest"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/sweep/own"
)

// corpus are names that would act in a page that does not escape them.
var corpus = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `'><svg/onload=alert(1)>`, `</title><script>alert(1)</script>`, `<!--<script>`,
	`javascript:alert(1)`, `{{.}}`, `"onmouseover="alert(1)`, `</textarea><script>alert(1)</script>`, `</pre><iframe src=//evil>`, "\x00<b>\x1b[31m", "</svg><script>",
	"\u202eexe.txt", "\xff\xfe<b>", `<a href="//evil">x</a>`, `&lt;script&gt;`, `<style>*{display:none}</style>`, `<base href=//evil>`,
	strings.Repeat(`<b onclick="alert(1)">`, 3000), strings.Repeat("\u0300", 20_000), strings.Repeat("a", 64<<10),
}

// tags are the elements of a page, as a browser would read them outside of escaped text.
var tags = regexp.MustCompile(`<[a-zA-Z!/][^>]*>`)

// shape is a page without its texts: its elements with their names only.
func shape(body string) string {
	var b strings.Builder
	for _, tag := range tags.FindAllString(body, -1) {
		name, _, _ := strings.Cut(strings.TrimSuffix(tag, ">"), " ")
		b.WriteString(name + ">")
	}
	return b.String()
}

// named are sweeps that a test exchanges.
type named struct{ now func() *webtest.Sweeps }

func (n named) List(ctx context.Context) ([]own.Summary, error) { return n.now().List(ctx) }
func (n named) Look(ctx context.Context, number int64, f func(*own.View)) error {
	return n.now().Look(ctx, number, f)
}

// A job of any name leaves every page with the elements that it has for an ordinary one, and does
// not make it long.
func TestHostileNames(t *testing.T) {
	tool := &webtest.Tool{Log: "harmless\n"}
	d := &webtest.Daemon{Jobs: 12, Nodes: 3, Name: "harmless"}
	sweeps := &webtest.Sweeps{Trials: 30, Epochs: 5, Name: "harmless"}
	h := setup(d, func(c *page.Config) {
		c.Tool = tool
		c.Sweeps = named{func() *webtest.Sweeps { return sweeps }}
	})
	ordinary := map[string]string{}
	for _, path := range everyPage {
		ordinary[path] = get(t, h, path).Body.String()
	}
	for _, name := range corpus {
		d.Set(func(d *webtest.Daemon) { d.Name = name })
		tool.Log = name + "\n"
		sweeps = &webtest.Sweeps{Trials: 30, Epochs: 5, Name: name}
		for _, path := range everyPage {
			w := get(t, h, path)
			body := w.Body.String()
			if w.Code != http.StatusOK || shape(body) != shape(ordinary[path]) {
				t.Errorf("%s with %.40q: %d, the page has other elements", path, name, w.Code)
			}
			if more := len(body) - len(ordinary[path]); more > 40<<10 && !strings.HasSuffix(path, "/log") {
				t.Errorf("%s with %.40q is %d bytes longer", path, name, more)
			}
			if strings.ContainsAny(body, "\x00\x1b\u202e") {
				t.Errorf("%s with %.40q has control characters", path, name)
			}
		}
	}
}

// What a request says is escaped as well, also in errors.
func TestHostileRequests(t *testing.T) {
	h := setup(&webtest.Daemon{Jobs: 4, Nodes: 2}, nil)
	for _, text := range corpus[:18] {
		q := url.QueryEscape(text)
		for _, path := range []string{"/jobs?q=" + q, "/jobs?from=" + q, "/jobs/" + url.PathEscape(text), "/jobs/4001/log?run=" + q, "/time?range=" + q, "/whatif?job=4001&change=" + q,
			"/whatif?job=4001&change=resize&gpus=" + q, "/whatif?job=4001&change=deadline&deadline=" + q, "/replay?to=" + q + "&at=" + q, "/saved?days=" + q, "/sweeps?from=" + q, "/sweeps/4001?from=" + q + "&sort=" + q, "/sweeps/" + url.PathEscape(text), "/sweeps/4001/" + url.PathEscape(text), "/done/" + url.PathEscape(text), "/" + url.PathEscape(text)} {
			w := get(t, h, path)
			if body := w.Body.String(); w.Code >= 500 || strings.Count(body, "<script") > 1 || strings.Contains(body, "<img") || strings.Contains(body, "<iframe") || strings.Contains(body, "<base") {
				t.Errorf("%s: %d %.400s", path, w.Code, body)
			}
		}
	}
}

// Ann sees none of Bob's jobs where sluiced lists none of them to her.
func TestOthersJobs(t *testing.T) {
	h := setup(&webtest.Daemon{Jobs: 12, Nodes: 3, Only: webtest.Ann}, nil)
	for _, path := range everyPage {
		if body := get(t, h, path).Body.String(); strings.Contains(body, "4002") || strings.Contains(body, ">bob<") {
			t.Errorf("%s shows a job of Bob's", path)
		}
	}
	for _, path := range []string{"/jobs/4002"} {
		if w := get(t, h, path); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	if body := get(t, setup(&webtest.Daemon{Jobs: 12, Nodes: 3}, nil), "/jobs/4002").Body.String(); strings.Contains(body, `action="/order"`) {
		t.Error("Bob's job has orders on Ann's page")
	}
}

// A daemon that goes away is said, on a whole page that comes back by itself; so is an older one.
func TestDaemonGoesAway(t *testing.T) {
	d := &webtest.Daemon{Jobs: 4, Nodes: 2}
	h := setup(d, func(c *page.Config) { c.Live = page.NewHub(nil) })
	gone := wire.Fail(wire.NoDaemon, "see 'systemctl status sluiced'", "no sluiced: no process listens on /run/sluice/sock")
	d.Set(func(d *webtest.Daemon) { d.Err = gone })
	for _, path := range everyPage[:9] {
		if path == "/jobs/4001/log" || strings.HasPrefix(path, "/sweeps") {
			continue // it asks sluice, or the viewer's own folders
		}
		w := get(t, h, path)
		if body := w.Body.String(); w.Code != http.StatusServiceUnavailable || !strings.Contains(body, "no process listens") || !strings.Contains(body, "data-live") {
			t.Errorf("%s: %d %.300s", path, w.Code, body)
		}
	}
	for _, path := range []string{"/sweeps", "/sweeps/4001", "/sweeps/3500"} {
		if w := get(t, h, path); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "no process listens") || !strings.Contains(w.Body.String(), "lr-search") && path != "/sweeps/3500" {
			t.Errorf("%s: %d %.300s", path, w.Code, w.Body)
		}
	}
	d.Set(func(d *webtest.Daemon) { d.Err = nil })
	if w := get(t, h, "/"); w.Code != http.StatusOK {
		t.Errorf("back: %d", w.Code)
	}
	d.Set(func(d *webtest.Daemon) {
		d.NoNews = wire.Fail(wire.NotFound, "update it", "sluiced has no such request")
	})
	for _, path := range []string{"/time", "/saved", "/replay", "/whatif"} {
		if w := get(t, h, path); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "no such request") {
			t.Errorf("%s of an older sluiced: %d", path, w.Code)
		}
	}
	d.Set(func(d *webtest.Daemon) { d.Err = errGone })
	if w := get(t, h, "/jobs"); w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "</html>") {
		t.Errorf("another error: %d", w.Code)
	}
}
