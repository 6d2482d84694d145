package page_test

import (
	"net/http/httptest"
	"testing"

	"github.com/sluice-hpc/sluice/cmd/sluice-web/webtest"
)

// What the first view of 1,000 jobs on 200 nodes, and each other page, costs the server. The canned
// daemon makes its report anew for each request.
func BenchmarkPages(b *testing.B) {
	h := setup(&webtest.Daemon{Jobs: 1000, Nodes: 200}, nil)
	for _, path := range everyPage {
		b.Run(path, func(b *testing.B) {
			b.ReportAllocs()
			r := httptest.NewRequest("GET", path, nil)
			r.Header.Set("Accept-Encoding", "gzip")
			size := 0
			for b.Loop() {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				size = w.Body.Len()
			}
			b.ReportMetric(float64(size)/1024, "KB-sent")
		})
	}
}
