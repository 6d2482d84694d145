package page_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/sluice-web/page"
	"github.com/sluice-hpc/sluice/cmd/sluice-web/webtest"
)

// clerk records orders.
type clerk struct {
	mu    sync.Mutex
	given []string
	err   error
	said  string
	lacks string // a verb that it cannot give
}

func (c *clerk) Gives(verb string) bool { return verb != c.lacks }

func (c *clerk) Give(_ context.Context, v page.Viewer, o page.Order) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.given = append(c.given, v.Name+": "+strings.Join(o.Command(), " "))
	return c.said, c.err
}

// setup returns pages as Ann sees them.
func setup(d *webtest.Daemon, change func(*page.Config)) *page.Pages {
	c := page.Config{
		Viewer: func(*http.Request) (page.Viewer, error) {
			return page.Viewer{Name: webtest.Ann, UID: webtest.AnnUID}, nil
		},
		Daemon: func(page.Viewer) page.Daemon { return d },
		Sweeps: &webtest.Sweeps{Trials: 40, Epochs: 20},
		Orders: &clerk{}, Tool: &webtest.Tool{}, Now: func() time.Time { return webtest.Now },
	}
	if change != nil {
		change(&c)
	}
	return page.New(c)
}

func get(t *testing.T, h http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w
}

func post(t *testing.T, h http.Handler, path string, form url.Values) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest("POST", path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

var errGone = errors.New("gone")

// eventually waits for a condition.
func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never")
		}
	}
}
