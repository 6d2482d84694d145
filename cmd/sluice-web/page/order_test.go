package page_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/cmd/sluice-web/page"
	"github.com/sluice-hpc/sluice/cmd/sluice-web/webtest"
)

// Every order of a page is the verb of the command line, is given once, and its page shows it.
func TestOrders(t *testing.T) {
	for _, c := range []struct {
		form url.Values
		want string // "" = it is refused
	}{
		{url.Values{"verb": {"resize"}, "gpus": {"8"}}, "resize 4001 --gpus 8"},
		{url.Values{"verb": {"resize"}, "gpus": {"auto"}}, "resize 4001 --gpus auto"},
		{url.Values{"verb": {"hold"}}, "hold 4001"},
		{url.Values{"verb": {"release"}}, "release 4001"},
		{url.Values{"verb": {"cancel"}}, "cancel 4001"},
		{url.Values{"verb": {"checkpoint"}}, "checkpoint 4001"},
		{url.Values{"verb": {"requeue"}}, "requeue 4001"},
		{url.Values{"verb": {"deadline"}, "deadline": {"now+8hours"}}, "deadline 4001 --at now+8hours"},
		{url.Values{"verb": {"deadline"}, "deadline": {"18:00"}, "soft": {"1"}}, "deadline 4001 --at 18:00 --mode soft"},
		{url.Values{"verb": {"deadline"}, "deadline": {"--config=/tmp/x"}}, ""},
		{url.Values{"verb": {"resize"}, "gpus": {"0"}}, ""},
		{url.Values{"verb": {"resize"}, "gpus": {"4; rm -rf ~"}}, ""},
		{url.Values{"verb": {"run"}}, ""},
		{url.Values{"verb": {"hold"}, "job": {"-1"}}, ""},
		{url.Values{"verb": {"hold"}, "job": {"4001 4002"}}, ""},
	} {
		k := &clerk{said: "<b>so be it</b>"}
		h := setup(&webtest.Daemon{Jobs: 4, Nodes: 2}, func(c *page.Config) { c.Orders = k })
		if c.form.Get("job") == "" {
			c.form.Set("job", "4001")
		}
		w := post(t, h, "/order", c.form)
		if c.want == "" {
			if w.Code != http.StatusBadRequest || len(k.given) > 0 {
				t.Errorf("%v: %d, ordered %q", c.form, w.Code, k.given)
			}
			continue
		}
		if w.Code != http.StatusSeeOther || !slices.Equal(k.given, []string{"ann: " + c.want}) {
			t.Errorf("%v: %d, ordered %q", c.form, w.Code, k.given)
			continue
		}
		done := get(t, h, w.Header().Get("Location"))
		if body := done.Body.String(); done.Code != http.StatusOK || !strings.Contains(body, "<code>sluice "+strings.ReplaceAll(c.want, "+", "&#43;")+"</code>") || !strings.Contains(body, "&lt;b&gt;so be it") {
			t.Errorf("%v: %d %s", c.form, done.Code, body)
		}
	}
}

// An order that fails is shown as such, with what sluice said.
func TestOrderFails(t *testing.T) {
	k := &clerk{err: errGone, said: "sluice: error: job 4001: 9 GPUs are more than its maximum, 8"}
	h := setup(&webtest.Daemon{Jobs: 4, Nodes: 2}, func(c *page.Config) { c.Orders = k })
	w := post(t, h, "/order", url.Values{"job": {"4001"}, "verb": {"resize"}, "gpus": {"9"}})
	body := get(t, h, w.Header().Get("Location")).Body.String()
	if !strings.Contains(body, "<h1>Not done</h1>") || !strings.Contains(body, "more than its maximum") {
		t.Error(body)
	}
}

// A viewer sees the results of their own orders only; a read-only page gives none and says so.
func TestOrdersOfOthers(t *testing.T) {
	name := webtest.Ann
	k := &clerk{}
	h := setup(&webtest.Daemon{Jobs: 4, Nodes: 2}, func(c *page.Config) {
		c.Orders = k
		c.Viewer = func(*http.Request) (page.Viewer, error) { return page.Viewer{Name: name}, nil }
	})
	at := post(t, h, "/order", url.Values{"job": {"4001"}, "verb": {"hold"}}).Header().Get("Location")
	name = webtest.Bob
	if w := get(t, h, at); w.Code != http.StatusNotFound || strings.Contains(w.Body.String(), "4001") {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
	h = setup(&webtest.Daemon{Jobs: 4, Nodes: 2}, func(c *page.Config) {
		c.Orders, c.Tool, c.NoOrders = nil, nil, "These pages are read-only. Give the order on a login node."
	})
	for _, path := range []string{"/order", "/submit", "/replay/policy"} {
		if w := post(t, h, path, url.Values{"job": {"4001"}, "verb": {"hold"}, "script": {"#!/bin/sh\n#SLUICE --max-gpus=2"}}); w.Code != http.StatusForbidden {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	for _, path := range everyPage {
		if body := get(t, h, path).Body.String(); strings.Contains(body, `method="post" action="/order"`) {
			t.Errorf("%s has a form that orders", path)
		}
	}
	if body := get(t, h, "/jobs/4001").Body.String(); !strings.Contains(body, "read-only") {
		t.Error("the job's page does not say that it is read-only")
	}
}

// A script is checked as it is typed, and submitted only if it is good; its words are arguments.
func TestSubmit(t *testing.T) {
	tool := &webtest.Tool{}
	h := setup(&webtest.Daemon{Jobs: 4, Nodes: 2}, func(c *page.Config) { c.Tool = tool })
	good := "#!/bin/bash\r\n#SLUICE --max-gpus=8\r\n\r\npython train.py\r\n"
	for _, c := range []struct{ script, options, want string }{
		{good, "", "It can be submitted"},
		{good, "--min-gpus=9", "--min-gpus"},
		{"#!/bin/bash\n#SLUICE --max-gpus=eight\n", "", "script:2:9"},
		{"#!/bin/bash\npython x\n", "", "nothing says how many GPUs"},
		{good, "train.sh", "is not an option"},
		{good, "--wrap=true", "exclude"},
		{"", "", "no script yet"},
	} {
		w := post(t, h, "/check", url.Values{"script": {c.script}, "options": {c.options}})
		if body := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(body, c.want) || strings.Contains(body, "<html") {
			t.Errorf("%q %q: %d %s", c.script, c.options, w.Code, body)
		}
		if strings.Contains(c.want, "can be") {
			continue
		}
		if w := post(t, h, "/submit", url.Values{"script": {c.script}, "options": {c.options}}); w.Code != http.StatusUnprocessableEntity {
			t.Errorf("%q %q is submitted: %d", c.script, c.options, w.Code)
		}
	}
	if ran := tool.Ran(); len(ran) > 0 {
		t.Fatalf("ran %q", ran)
	}
	if w := post(t, h, "/submit", url.Values{"script": {good}, "folder": {"relative"}}); w.Code != http.StatusBadRequest {
		t.Errorf("a relative folder: %d", w.Code)
	}
	w := post(t, h, "/submit", url.Values{"script": {good}, "options": {"--min-gpus=2\r\n--job-name=a b; true"}, "folder": {"~/runs"}})
	if w.Code != http.StatusSeeOther {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	if ran := tool.Ran(); len(ran) != 1 || ran[0] != "submit --min-gpus=2 --job-name=a b; true in ~/runs <#!/bin/bash\n#SLUICE --max-gpus=8\n\npython train.py\n" {
		t.Errorf("%q", ran)
	}
	if body := get(t, h, w.Header().Get("Location")).Body.String(); !strings.Contains(body, "/jobs/5000") {
		t.Error(body)
	}
}

// A change is tried before it is ordered: its page has the ends that move, and the command.
func TestWhatIf(t *testing.T) {
	d := &webtest.Daemon{Jobs: 20, Nodes: 4}
	h := setup(d, nil)
	for path, want := range map[string]string{
		"job=4001&change=resize&gpus=8":                      "sluice resize 4001 --gpus 8",
		"job=4001&change=deadline&deadline=now%2B8hours":     "sluice deadline 4001 --at now&#43;8hours",
		"job=4001&change=deadline&deadline=none&soft=1":      "sluice deadline 4001 --at none",
		"job=4001&change=hold":                               "sluice hold 4001",
		"job=4001&change=cancel":                             "sluice cancel 4001",
		"job=4001&change=resize&gpus=many":                   "is not a number of GPUs",
		"job=4001&change=deadline&deadline=%3Cscript%3E":     "role=\"alert\"",
		"job=4001&change=deadline&deadline=2020-01-01T00:00": "role=\"alert\"",
		"job=4001&change=explode":                            "is not a change",
	} {
		w := get(t, h, "/whatif?"+path)
		if body := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d, no %q", path, w.Code, want)
		}
	}
	if n := len(d.Tried()); n != 5 {
		t.Errorf("%d changes were tried: %+v", n, d.Tried())
	}
}

// A replay under another policy runs once at a time, and its page has what it printed.
func TestTrial(t *testing.T) {
	tool := &webtest.Tool{}
	h := setup(&webtest.Daemon{Jobs: 4, Nodes: 2}, func(c *page.Config) { c.Tool = tool })
	if w := get(t, h, "/replay/policy"); w.Code != http.StatusNotFound {
		t.Errorf("%d before any", w.Code)
	}
	if w := post(t, h, "/replay/policy", url.Values{"policy": {"--config=/tmp/x"}}); w.Code != http.StatusBadRequest {
		t.Errorf("a policy that is an option: %d", w.Code)
	}
	if w := post(t, h, "/replay/policy", url.Values{"policy": {"fcfs"}, "days": {"3"}}); w.Code != http.StatusSeeOther {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	eventually(t, func() bool {
		return strings.Contains(get(t, h, "/replay/policy").Body.String(), "41 min instead of 63 min")
	})
	if ran := tool.Ran(); len(ran) != 1 || !strings.HasPrefix(ran[0], "whatif --policy fcfs --sacct ") {
		t.Errorf("%q", ran)
	}
}
