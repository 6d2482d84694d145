package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// browsed are the pages that the browser opens.
var browsed = map[string]string{"cluster": "/", "jobs": "/jobs?q=--me", "job": "/jobs/4001", "log": "/jobs/4001/log", "time": "/time", "whatif": "/whatif",
	"change": "/whatif?job=4001&change=resize&gpus=8", "shares": "/shares", "saved": "/saved", "replay": "/replay?at=40000", "submit": "/submit", "missing": "/jobs/77"}

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
	if all := wrong.but("404"); len(all) > 0 { // one of the pages is missing on purpose
		t.Errorf("the browser complains:\n%s", strings.Join(all, "\n"))
	}
}

// widest names an element that makes the page wider than its window; "" = none does.
const widest = `(() => { if (document.documentElement.scrollWidth <= window.innerWidth) return "";
	const e = Array.from(document.querySelectorAll("main *, header *")).find(e => e.getBoundingClientRect().right > window.innerWidth + 1 && !e.parentElement.closest(".scroll"));
	return e ? e.outerHTML.slice(0, 200) : "?"; })()`
