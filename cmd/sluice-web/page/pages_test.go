package page_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/cmd/sluice-web/webtest"
)

// every page of a viewer.
var everyPage = []string{"/", "/jobs", "/jobs?q=--me", "/jobs/4001", "/jobs/4001/log", "/time", "/whatif", "/whatif?job=4001&change=resize&gpus=8", "/sweeps", "/sweeps/4001", "/sweeps/4001?sort=number", "/shares", "/saved", "/replay", "/replay?at=3000", "/submit"}

// Every page is shown, whole, and names what it is about.
func TestPages(t *testing.T) {
	h := setup(&webtest.Daemon{Jobs: 30, Nodes: 6}, nil)
	for _, path := range everyPage {
		w := get(t, h, path)
		body := w.Body.String()
		if w.Code != http.StatusOK || !strings.HasSuffix(strings.TrimSpace(body), "</html>") || !strings.Contains(body, "<main") {
			t.Errorf("%s: %d, %d bytes: %.300s", path, w.Code, len(body), body)
		}
		if strings.Contains(body, "<no value>") || strings.Contains(body, "%!") || strings.Contains(body, "NaN") {
			t.Errorf("%s has a hole", path)
		}
	}
}
