package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/sluice-hpc/sluice/cmd/sluice-web/webtest"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// browsed are the pages that the browser opens.
var browsed = map[string]string{"cluster": "/", "jobs": "/jobs?q=--me", "job": "/jobs/4001", "log": "/jobs/4001/log", "time": "/time", "whatif": "/whatif",
	"change": "/whatif?job=4001&change=resize&gpus=8", "sweeps": "/sweeps", "sweep": "/sweeps/4001", "stop": "/sweeps/4001/stop", "shares": "/shares", "saved": "/saved", "replay": "/replay?at=40000", "submit": "/submit", "missing": "/jobs/77"}

// complaints are what the browser says is wrong: exceptions, refusals by the policy, failed requests.
type complaints struct {
	mu  sync.Mutex
	all []string
}

func complaintsOf(ctx context.Context) *complaints {
	c := &complaints{}
	go func() {
		for m, err := range chromedp.Console(ctx) {
			if err != nil {
				return
			}
			if m.IsException() || m.Type == chromedp.ConsoleError {
				c.mu.Lock()
				c.all = append(c.all, fmt.Sprintf("%s (%s:%d)", m.Text, m.URL, m.Line))
				c.mu.Unlock()
			}
		}
	}()
	return c
}

func (c *complaints) but(expected string) (out []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, text := range c.all {
		if expected == "" || !strings.Contains(text, expected) {
			out = append(out, text)
		}
	}
	return out
}

// In a real browser: the address lets in, every page is shown without an error of the script or of
// the policy, axe-core finds nothing in light, dark and on 320 pixels, and nothing is wider than the
// window.
func TestBrowserPages(t *testing.T) {
	ctx := chromium(t)
	s := serveTest(t)
	script, err := os.ReadFile("testdata/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	wrong := complaintsOf(ctx)
	do(t, ctx, "login", chromedp.Navigate(s.url+"/login?token="+s.token), until(`document.body.dataset.ready`))
	for name, path := range browsed {
		do(t, ctx, name, size(1280, 900, false), chromedp.Navigate(s.url+path), until(`document.body.dataset.ready`), picture(name+"-light"))
		judge := func(look, rules string) {
			if found := axe(t, ctx, string(script), rules); len(found) > 0 {
				t.Errorf("%s, %s:\n%s", name, look, strings.Join(found, "\n"))
			}
			if wide := asked[string](t, ctx, widest); wide != "" {
				t.Errorf("%s, %s: wider than the window: %s", name, look, wide)
			}
		}
		judge("light", "")
		do(t, ctx, name, size(1280, 900, true), picture(name+"-dark"))
		judge("dark", `, runOnly: ["color-contrast"]`) // what colours change
		do(t, ctx, name, size(320, 720, false), picture(name+"-narrow"))
		judge("narrow", "")
	}
	for _, name := range []string{"cluster", "time"} { // on a wall
		do(t, ctx, name, size(3840, 2160, true), chromedp.Navigate(s.url+browsed[name]), until(`document.body.dataset.ready`), picture(name+"-wall"))
		if wide := asked[string](t, ctx, widest); wide != "" {
			t.Errorf("%s, on a wall: wider than the window: %s", name, wide)
		}
	}
	if all := wrong.but("404"); len(all) > 0 { // one of the pages is missing on purpose
		t.Errorf("the browser complains:\n%s", strings.Join(all, "\n"))
	}
}

// widest names an element that makes the page wider than its window; "" = none does.
const widest = `(() => { if (document.documentElement.scrollWidth <= window.innerWidth) return "";
	const e = Array.from(document.querySelectorAll("main *, header *")).find(e => e.getBoundingClientRect().right > window.innerWidth + 1 && !e.parentElement.closest(".scroll"));
	return e ? e.outerHTML.slice(0, 200) : "?"; })()`

// In a real browser: a page follows what changes without being loaded again, leaves alone what the
// user is typing into, says when the daemon is gone and comes back; a change is tried before it is
// ordered, every order reaches the clerk once, and a script is checked while it is typed.
func TestBrowserWork(t *testing.T) {
	ctx := chromium(t)
	s := serveTest(t)
	do(t, ctx, "login", chromedp.Navigate(s.url+"/login?token="+s.token), until(`document.body.dataset.ready`))

	do(t, ctx, "follow", chromedp.Navigate(s.url+"/jobs"), until(`document.body.dataset.ready && document.querySelectorAll("#list tbody tr").length == 40`))
	wait(t, "the page follows", func() bool { return s.hub.Open() == 1 })
	asked[bool](t, ctx, `window.mine = true; document.getElementById("q").focus(); document.getElementById("q").value = "--me"; true`)
	s.daemon.Set(func(d *webtest.Daemon) { d.Jobs = 30 })
	s.notify()
	do(t, ctx, "a change is shown", until(`document.querySelectorAll("#list tbody tr").length == 30`))
	if !asked[bool](t, ctx, `window.mine && document.getElementById("q").value == "--me" && document.activeElement.id == "q"`) {
		t.Error("the page was loaded again, or what was typed is gone")
	}
	s.daemon.Set(func(d *webtest.Daemon) {
		d.Err = wire.Fail(wire.NoDaemon, "", "no sluiced: no process listens on /run/sluice/sock")
	})
	s.notify()
	do(t, ctx, "the daemon is gone, while a filter is typed", until(`document.getElementById("link").textContent.includes("no process listens")`))
	if !asked[bool](t, ctx, `document.getElementById("q").value == "--me" && document.querySelectorAll("#list tbody tr").length == 30`) {
		t.Error("what was typed is gone")
	}
	asked[bool](t, ctx, `document.activeElement.blur(); true`)
	s.notify()
	do(t, ctx, "the daemon is gone", until(`document.querySelector("main").textContent.includes("no process listens")`))
	s.daemon.Set(func(d *webtest.Daemon) { d.Err = nil })
	s.notify()
	do(t, ctx, "it is back", until(`document.querySelectorAll("#list tbody tr").length == 30`))

	do(t, ctx, "try", chromedp.Navigate(s.url+"/jobs/4001"), until(`document.body.dataset.ready`),
		evaluated(`document.getElementById("gpus").value = "8"; document.getElementById("gpus").form.submit()`),
		until(`document.querySelector("#answer") && location.pathname == "/whatif"`),
		evaluated(`document.querySelector("#give button").click()`), until(`document.querySelector("h1").textContent == "Done"`))
	s.ordered(t, "resize 4001 --gpus 8")
	for _, c := range []struct{ button, want string }{{"Hold", "hold 4001"}, {"Save now", "checkpoint 4001"}} {
		do(t, ctx, c.want, chromedp.Navigate(s.url+"/jobs/4001"), until(`document.body.dataset.ready`),
			evaluated(`Array.from(document.querySelectorAll("#orders button")).find(b => b.textContent == "`+c.button+`").click()`), until(`document.querySelector("h1").textContent == "Done"`))
		s.ordered(t, c.want)
	}
	do(t, ctx, "cancel", chromedp.Navigate(s.url+"/whatif?job=4001&change=cancel"), until(`document.querySelector("#give button")`),
		evaluated(`document.querySelector("#give button").click()`), until(`document.querySelector("h1").textContent == "Done"`))
	s.ordered(t, "cancel 4001")
	do(t, ctx, "stop a sweep", chromedp.Navigate(s.url+"/sweeps/4001"), until(`document.body.dataset.ready`),
		evaluated(`Array.from(document.querySelectorAll("#orders button")).find(b => b.textContent.startsWith("Stop")).click()`), until(`document.querySelector("h1").textContent.startsWith("Stop sweep 4001?")`),
		evaluated(`document.querySelector("form.order button").click()`), until(`document.querySelector("h1").textContent == "Done"`))
	s.ordered(t, "sweep stop 4001")

	do(t, ctx, "check", chromedp.Navigate(s.url+"/submit"), until(`document.body.dataset.ready`), chromedp.SendKeys(chromedp.CSS("#options"), "--min-gpus=9"),
		until(`document.querySelector("#checked .wrong")`), evaluated(`document.getElementById("options").value = ""`), chromedp.SendKeys(chromedp.CSS("#options"), "--min-gpus=2"),
		until(`document.querySelector("#checked .ok")`), evaluated(`document.querySelector("form.submit button").click()`), until(`document.querySelector("h1").textContent == "Done"`))
	if ran := s.tool.Ran(); len(ran) != 1 || !strings.HasPrefix(ran[0], "submit --min-gpus=2 in") {
		t.Errorf("%q", ran)
	}

	do(t, ctx, "slide", chromedp.Navigate(s.url+"/replay"), until(`document.body.dataset.ready`),
		evaluated(`document.getElementById("at").value = "3600"; document.getElementById("at").dispatchEvent(new Event("input", {bubbles: true}))`), until(`location.search.includes("at=3456") || location.search.includes("at=36")`))
}

// evaluated runs a script in the page.
func evaluated(script string) step {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Evaluate[bool](script+";true")(ctx, t)
		return chromedp.Void{}, err
	}
}

// ordered waits for an order, and fails if there are others.
func (s *served) ordered(t *testing.T, want string) {
	t.Helper()
	select {
	case got := <-s.clerk.given:
		if got != want {
			t.Errorf("ordered %q, want %q", got, want)
		}
	case <-time.After(2 * time.Minute):
		t.Fatalf("never ordered %q", want)
	}
	select {
	case got := <-s.clerk.given:
		t.Errorf("ordered %q as well", got)
	default:
	}
}

// wait waits for a condition.
func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}
