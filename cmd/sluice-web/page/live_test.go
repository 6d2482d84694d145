package page_test

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluice-hpc/sluice/cmd/sluice-web/page"
	"github.com/sluice-hpc/sluice/cmd/sluice-web/webtest"
)

// Streams share one watch, which ends with the last of them; each gets every change; their number is
// bounded.
func TestLive(t *testing.T) {
	var watches atomic.Int32
	notify := make(chan func(), 10)
	hub := page.NewHub(func(ctx context.Context, n func()) {
		watches.Add(1)
		notify <- n
		<-ctx.Done()
		watches.Add(-1)
	})
	h := setup(&webtest.Daemon{Jobs: 4, Nodes: 2}, func(c *page.Config) { c.Live = hub })
	server := httptest.NewServer(h)
	defer server.Close()
	if body := get(t, h, "/").Body.String(); !strings.Contains(body, "data-live") {
		t.Error("the page does not follow")
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	open := func() *bufio.Reader {
		r, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/live", nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := http.DefaultClient.Do(r)
		if err != nil || a.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatal(err)
		}
		return bufio.NewReader(a.Body)
	}
	first, second := open(), open()
	tell := <-notify
	tell()
	for _, r := range []*bufio.Reader{first, second} {
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if line == "event: changed\n" {
				break
			}
		}
	}
	if n := watches.Load(); n != 1 || hub.Open() != 2 {
		t.Errorf("%d watches, %d streams", n, hub.Open())
	}
	cancel()
	eventually(t, func() bool { return hub.Open() == 0 && watches.Load() == 0 })
	tell() // nobody listens: it does not block
}

// Of the streams that are open at once no more than a number are served.
func TestLiveIsBounded(t *testing.T) {
	hub := page.NewHub(func(ctx context.Context, _ func()) { <-ctx.Done() })
	h := setup(&webtest.Daemon{}, func(c *page.Config) { c.Live = hub })
	ctx, cancel := context.WithCancel(context.Background())
	const many = 300
	refused := make(chan bool, many)
	for range many {
		go func() {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", "/live", nil).WithContext(ctx))
			refused <- w.Code == http.StatusServiceUnavailable
		}()
	}
	n := 0
	for range many - 256 { // the others stay
		if <-refused {
			n++
		}
	}
	if n != many-256 || hub.Open() != 256 {
		t.Errorf("%d of %d streams are refused, %d are open", n, many, hub.Open())
	}
	cancel()
	eventually(t, func() bool { return hub.Open() == 0 })
	if w := get(t, setup(&webtest.Daemon{}, nil), "/live"); w.Code != http.StatusNotFound {
		t.Errorf("without a hub: %d", w.Code)
	}
}
