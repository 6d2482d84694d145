package page_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/sluice-hpc/sluice/cmd/sluice-web/webtest"
)

// The first view of 1,000 jobs on 200 nodes is less than 200 KB, and ten times the jobs do not make
// any page much longer. How much is allocated is bounded as well; how long it takes is not asserted.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		jobs, first, most int // KB of the first view, and of any page, uncompressed
		allocated         float64
	}{{1000, 200, 700, 120_000}, {10_000, 200, 700, 500_000}} {
		h := setup(&webtest.Daemon{Jobs: c.jobs, Nodes: 200}, nil)
		for _, path := range everyPage {
			w := get(t, h, path)
			if n := w.Body.Len() >> 10; w.Code != http.StatusOK || n > c.most || (path == "/" || path == "/jobs") && n > c.first {
				t.Errorf("%d jobs, %s: %d, %d KB", c.jobs, path, w.Code, n)
			} else {
				t.Logf("%d jobs, %s: %d KB", c.jobs, path, n)
			}
		}
		r := httptest.NewRequest("GET", "/", nil)
		if n := testing.AllocsPerRun(3, func() { h.ServeHTTP(httptest.NewRecorder(), r) }); n > c.allocated {
			t.Errorf("%d jobs: the first view takes %.0f allocations", c.jobs, n)
		}
	}
}

// A page is compressed where the browser takes that, and not sent again while it is the same.
func TestSentOnce(t *testing.T) {
	h := setup(&webtest.Daemon{Jobs: 100, Nodes: 20}, nil)
	plain := get(t, h, "/jobs").Body.String()
	r := httptest.NewRequest("GET", "/jobs", nil)
	r.Header.Set("Accept-Encoding", "gzip, br")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	z, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(z); err != nil || string(body) != plain {
		t.Errorf("%v, %d bytes of %d", err, len(body), len(plain))
	}
	r.Header.Set("If-None-Match", w.Header().Get("ETag"))
	again := httptest.NewRecorder()
	h.ServeHTTP(again, r)
	if again.Code != http.StatusNotModified || again.Body.Len() > 0 {
		t.Errorf("again: %d, %d bytes", again.Code, again.Body.Len())
	}
}
