package engine

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
)

// TestTook: a report says how long the last cycle took that is over. Readers of an earlier report keep that.
func TestTook(t *testing.T) {
	e := engineWith(func(*Engine, *track.Job) {})
	Took(e, time.Second) // no cycle has observed anything: there is no report
	if e.Report() != nil {
		t.Fatal("a report before the first cycle")
	}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	cycle := func() { e.report.Publish(elastic.Snapshot{Now: now}, elastic.Plan{}, now) }
	cycle()
	first := e.Report()
	Took(e, 2*time.Second)
	if got := e.Report().Took; first.Took != 0 || got != 2*time.Second {
		t.Errorf("the first cycle took %v, and %v once it was over", first.Took, got)
	}
	cycle()
	if got := e.Report().Took; got != 2*time.Second {
		t.Errorf("while the second cycle is on: %v", got)
	}
	if Took(e, 3*time.Second); e.Report().Took != 3*time.Second {
		t.Errorf("after the second cycle: %v", e.Report().Took)
	}
}
