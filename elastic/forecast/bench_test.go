package forecast_test

import (
	"context"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/forecast"
	"github.com/sluice-hpc/sluice/elastic/policy/policytest"
)

// What a forecast costs, and how far it gets within its bounds.
func BenchmarkProject(b *testing.B) {
	for _, site := range []policytest.Site{
		{Name: "8x4 40 jobs", Nodes: 8, PerNode: 4, Jobs: 40, Waiting: 20, Fitted: true},
		{Name: "64x8 300 jobs", Nodes: 64, PerNode: 8, Jobs: 300, Waiting: 150, Fitted: true},
		{Name: "250x8 1000 jobs", Nodes: 250, PerNode: 8, Jobs: 1000, Waiting: 500, Fitted: true},
	} {
		s := site.Snapshot()
		b.Run(site.Name, func(b *testing.B) {
			var p forecast.Projection
			for b.Loop() {
				p = forecast.Project(context.Background(), s, by("lookahead"), forecast.Usual)
			}
			b.ReportMetric(float64(p.Steps), "steps")
			b.ReportMetric(p.Until.Sub(p.At).Hours(), "hours")
		})
	}
}
