package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/sluice-hpc/sluice/cmd/sluice-web/door"
	"github.com/sluice-hpc/sluice/cmd/sluice-web/page"
	"github.com/sluice-hpc/sluice/cmd/sluice-web/webtest"
)

// chromium starts a browser that ends with the test. Without one the test is skipped.
func chromium(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	if path == "" {
		t.Skip("NOT TESTED in a browser: there is no chromium; type etc/install-packages")
	}
	options := append([]chromedp.ExecAllocatorOption{}, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.Headless, chromedp.DisableGPU,
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(2*time.Minute),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-extensions", true), chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("hide-scrollbars", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithErrorf(t.Logf)) // what the protocol does not know is no failure
	t.Cleanup(cancel)
	do(t, ctx, "the browser starts", chromedp.Navigate("about:blank"))
	ctx, cancel = context.WithTimeout(ctx, 10*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// served are pages over a canned daemon, behind a door, on a port.
type served struct {
	daemon *webtest.Daemon
	tool   *webtest.Tool
	clerk  *recorder
	hub    *page.Hub
	notify func()
	url    string
	token  string
}

// recorder records orders.
type recorder struct{ given chan string }

// Gives reports true.
func (r *recorder) Gives(string) bool { return true }

// Give records an order.
func (r *recorder) Give(_ context.Context, _ page.Viewer, o page.Order) (string, error) {
	r.given <- strings.Join(o.Command(), " ")
	return "", nil
}

func serveTest(t *testing.T) *served {
	t.Helper()
	s := &served{daemon: &webtest.Daemon{Jobs: 40, Nodes: 12}, tool: &webtest.Tool{}, clerk: &recorder{make(chan string, 100)}}
	watching := make(chan func(), 1)
	s.hub = page.NewHub(func(ctx context.Context, notify func()) { watching <- notify; <-ctx.Done(); <-watching })
	s.notify = func() { n := <-watching; n(); watching <- n }
	pages := page.New(page.Config{
		Viewer: func(*http.Request) (page.Viewer, error) {
			return page.Viewer{Name: webtest.Ann, UID: webtest.AnnUID}, nil
		},
		Daemon: func(page.Viewer) page.Daemon { return s.daemon }, Sweeps: &webtest.Sweeps{Trials: 60, Epochs: 30}, Orders: s.clerk, Tool: s.tool, Live: s.hub, Now: func() time.Time { return webtest.Now },
		Log: func(err error) { t.Error(err) },
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := door.NewOwn("", time.Now, func(text string) { t.Log(text) })
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, l, d.Wrap(pages), nil, os.Stderr) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	s.url, s.token = "http://"+l.Addr().String(), d.Token()
	return s
}

// step is something that the browser does.
type step = chromedp.Action[chromedp.Void]

// do makes the browser do steps, one after the other.
func do(t *testing.T, ctx context.Context, what string, steps ...step) {
	t.Helper()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// size sets the window, and whether colours are dark.
func size(width, height int64, dark bool) step {
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1})
		if err == nil {
			_, err = cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		}
		return chromedp.Void{}, err
	}
}

// until waits for a condition in the page.
func until(condition string) step {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
		defer cancel()
		for {
			ok, err := chromedp.Evaluate[bool]("!!("+condition+")")(ctx, t)
			if err == nil && ok {
				return chromedp.Void{}, nil
			}
			select {
			case <-ctx.Done():
				return chromedp.Void{}, fmt.Errorf("never: %s (%v)", condition, err)
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
}

// picture writes what the window shows into the folder SLUICE_SCREENSHOTS, if that is set.
func picture(name string) step {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		dir := os.Getenv("SLUICE_SCREENSHOTS")
		if dir == "" {
			return chromedp.Void{}, nil
		}
		raw, err := chromedp.CaptureScreenshot()(ctx, t)
		if err != nil {
			return chromedp.Void{}, err
		}
		return chromedp.Void{}, os.WriteFile(filepath.Join(dir, name+".png"), raw, 0o644)
	}
}

// asked returns what an expression is in the page; one that is a promise is awaited.
func asked[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%.80s: %v", expression, err)
	}
	return v
}

// axe returns what axe-core finds on the page, a line each; rules are further options of its run. The page's own policy forbids scripts
// from elsewhere; the debugger may load one.
func axe(t *testing.T, ctx context.Context, script, rules string) []string {
	t.Helper()
	asked[bool](t, ctx, "if (!window.axe) {"+script+"};true")
	return asked[[]string](t, ctx, `axe.run(document, {resultTypes: ["violations"]`+rules+`}).then(r => r.violations.map(v => v.id + ": " + v.help + ": " +
		v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + " " + n.failureSummary.slice(0, 200)).join(" | ")))`)
}
